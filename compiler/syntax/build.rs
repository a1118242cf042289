//! Generates the parser from `src/parser/grammar.lalrpop`.

fn main() {
    let mut lalrpop = lalrpop::Configuration::new();
    lalrpop.use_cargo_dir_conventions().emit_rerun_directives(true);
    if let Err(error) = lalrpop.process() {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
