//! What follows an instruction's name: rounding, saturation, flush-to-zero.

/// How a result that the type cannot represent is rounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Rounding {
    /// `.rn`: to nearest, ties to even.
    Nearest,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards negative infinity.
    Down,
    /// `.rp`: towards positive infinity.
    Up,
    /// `.rna`: to nearest, ties away from zero.
    NearestAway,
}

/// Modifiers of an arithmetic instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    /// `.rn`, `.rz`, `.rm`, `.rp`, `.rna`, or with [`Modifiers::to_integer`] `.rni`, `.rzi`, `.rmi`, `.rpi`.
    pub rounding: Option<Rounding>,
    /// True if the rounding was written as one to an integer.
    pub to_integer: bool,
    /// `.ftz`: subnormal inputs and results of `f32` become zeros of the same sign.
    pub ftz: bool,
    /// `.sat`: floats to [0, 1], NaN to 0; integers to the type's range.
    pub sat: bool,
    /// `.satfinite`: values beyond the largest finite one become that.
    pub satfinite: bool,
    /// `.approx`
    pub approx: bool,
    /// `.full`
    pub full: bool,
    /// `.relu`: negative results become 0, NaN the canonical one.
    pub relu: bool,
    /// `.NaN`: a NaN operand makes the result NaN.
    pub nan: bool,
    /// `.xorsign.abs`: the larger or smaller magnitude, with the exclusive or of the signs.
    pub xorsign_abs: bool,
}

impl Modifiers {
    /// Sets the modifier of a suffix without its dot (`rn`, `ftz`, `xorsign.abs` …). Returns false if it is none of these.
    pub fn set(&mut self, name: &str) -> bool {
        let flag = match name {
            "ftz" => &mut self.ftz,
            "sat" => &mut self.sat,
            "satfinite" => &mut self.satfinite,
            "approx" => &mut self.approx,
            "full" => &mut self.full,
            "relu" => &mut self.relu,
            "NaN" => &mut self.nan,
            "xorsign.abs" => &mut self.xorsign_abs,
            _ => return self.set_rounding(name),
        };
        *flag = true;
        true
    }

    fn set_rounding(&mut self, name: &str) -> bool {
        let (rounding, to_integer) = match name {
            "rn" => (Rounding::Nearest, false),
            "rz" => (Rounding::Zero, false),
            "rm" => (Rounding::Down, false),
            "rp" => (Rounding::Up, false),
            "rna" => (Rounding::NearestAway, false),
            "rni" => (Rounding::Nearest, true),
            "rzi" => (Rounding::Zero, true),
            "rmi" => (Rounding::Down, true),
            "rpi" => (Rounding::Up, true),
            _ => return false,
        };
        self.rounding = Some(rounding);
        self.to_integer = to_integer;
        true
    }
}
