//! Random passes on a module, which is verified after each.

use super::draw::{self, Advice};
use crate::rng::Rng;
use hammock_compiler::{Evaluator, Options};
use hammock_diagnostics::{Diagnostic, SourceFile, render_text};
use hammock_ir::{Module, print::module_text};
use hammock_passes::{Pipeline, Silent, Step};

/// Sizes are known: memory is planned in another way then.
const KNOWN_SIZES: &str = r#"BindSymbolicVars{binding_map={"n":3,"m":4}}"#;

/// Draws passes, and the level whose passes run after them; for every other program, sizes are known.
pub fn drawn(rng: &mut Rng) -> (Vec<Step>, u8) {
    let known = Pipeline::parse(KNOWN_SIZES).unwrap().steps.into_iter().filter(|_| rng.chance(50));
    let mut drawn: Vec<Step> = known.collect();
    if rng.chance(60) {
        drawn.extend(draw::lowered_partly(rng));
    }
    drawn.extend((0..rng.below(8)).map(|_| draw::any(rng)));
    (drawn, rng.below(4) as u8)
}

/// A module, and the passes that were run on it.
pub struct Run<'a> {
    /// Target and other options of the build.
    pub options: &'a Options,
    pub source: &'a SourceFile,
    pub module: Module,
    pub ran: &'a mut Pipeline,
}

impl Run<'_> {
    /// Runs a pass on a copy of the module, and verifies it.
    fn after(&self, step: &Step) -> Result<Module, Diagnostic> {
        let evaluator = Evaluator::new();
        let mut module = self.module.clone();
        let alone = Pipeline { steps: vec![step.clone()] };
        alone.run(&mut module, &self.options.environment(&evaluator), &mut Silent)?;
        Ok(module)
    }

    /// Replaces the module by the result of a pass.
    fn keep(&mut self, step: Step, module: Module) -> Result<(), String> {
        self.module = module;
        self.ran.steps.push(step);
        verified(&self.module)
    }

    fn text(&self, step: &Step, error: &Diagnostic) -> String {
        format!("pass {}{}: {}", step.pass.name, step.options, render_text(error, Some(self.source), false))
    }

    /// Runs a drawn pass, after those that its error asks for. Leaves it out if the module is not for it.
    pub fn drawn(&mut self, step: Step, rng: &mut Rng) -> Result<(), String> {
        let mut open = vec![step];
        let mut tries = 0;
        while let Some(step) = open.last() {
            tries += 1;
            match self.after(step) {
                Ok(module) if draw::is_comparable(&self.module, &module) => {
                    self.keep(open.remove(open.len() - 1), module)?
                }
                Ok(_) => return Ok(()),
                Err(error) => match draw::advice(rng, &error) {
                    Some(Advice::RunFirst(steps)) if tries < MAX_TRIES => open.extend(steps.into_iter().rev()),
                    Some(Advice::LeaveOut) => return Ok(()),
                    _ => return Err(self.text(step, &error)),
                },
            }
        }
        Ok(())
    }

    /// Runs a pass that takes any module.
    pub fn step(&mut self, step: &Step) -> Result<(), String> {
        let module = self.after(step).map_err(|error| self.text(step, &error))?;
        self.keep(step.clone(), module)
    }
}

/// Maximum number of passes that run because a drawn one asks for them, and of attempts to run it.
const MAX_TRIES: usize = 12;

fn verified(module: &Module) -> Result<(), String> {
    match hammock_ir::verify::module(module, &hammock_ops::Table).iter().find(|found| found.is_error()) {
        None => Ok(()),
        Some(error) => Err(format!("{}\n{}", error.message, module_text(module, &Default::default()))),
    }
}
