#![allow(missing_docs)]
#[derive(Clone,Copy,PartialEq,Eq,Hash,Debug)] pub struct DType{pub code:u8,pub bits:u8,pub lanes:u16}
impl DType{ pub const INT64:DType=DType{code:0,bits:64,lanes:1};pub const INT32:DType=DType{code:0,bits:32,lanes:1};pub const BOOL:DType=DType{code:6,bits:8,lanes:1};pub const HANDLE:DType=DType{code:3,bits:64,lanes:1};pub const VOID:DType=DType{code:3,bits:0,lanes:0};
pub fn with_lanes(self,l:u16)->Self{DType{lanes:l,..self}} pub fn is_float(self)->bool{true} pub fn is_bfloat16(self)->bool{true}}
impl std::fmt::Display for DType{fn fmt(&self,f:&mut std::fmt::Formatter<'_>)->std::fmt::Result{write!(f,"x")}}
#[derive(Clone,Debug)] pub struct Tensor;
