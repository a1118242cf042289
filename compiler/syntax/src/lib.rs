#[derive(Clone,Copy,Debug,Default)] pub struct Span{pub start:u32,pub end:u32}
