//! Property that holds for any text that is assembled.

use hammock_asm::assemble;
use hammock_diagnostics::{SourceFile, render_text};
use hammock_runtime::Image;
use hammock_tools::listing::list;

/// Assembles a text. If that succeeds, the listing of the result must assemble to the same bytes.
pub fn survive(text: &str) {
    let Ok(source) = SourceFile::new("listing.txt", text) else { return };
    match assemble(&source, &|_| None) {
        Ok(executable) => {
            let image = Image { executable, ..Image::default() };
            let listing = list(&image, usize::MAX).text;
            list(&image, 8);
            let again = SourceFile::new("again.txt", listing.as_str()).unwrap();
            match assemble(&again, &|_| None) {
                Ok(again) => assert!(again.save() == image.executable.save(), "{listing}"),
                Err(errors) => panic!("{}\n{listing}", render_text(&errors[0], Some(&again), false)),
            }
        }
        Err(errors) => errors.iter().for_each(|e| drop(render_text(e, Some(&source), false))),
    }
}
