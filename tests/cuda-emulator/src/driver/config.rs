//! Configuration of the emulated machine, from variables of the environment.
use std::path::PathBuf;

/// Treatment of leaks when a context is destroyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leaks {
    /// They are printed.
    #[default]
    Report,
    /// They are printed, and the call that destroys the context fails.
    Error,
}

/// The emulated machine, and the faults on request. Each field says its variable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// `CUDA_EMULATOR_DEVICES`: number of devices.
    pub devices: u32,
    /// `CUDA_EMULATOR_CAPABILITY`: compute capability, `7.5`, `8.0` or `9.0`.
    pub capability: (u32, u32),
    /// `CUDA_EMULATOR_MEMORY`: bytes of global memory of each device.
    pub memory: u64,
    /// `CUDA_EMULATOR_DRIVER_VERSION`: `1000 * major + 10 * minor`.
    pub driver_version: u32,
    /// `CUDA_EMULATOR_SEED`: orders of unordered work. 0 runs work as late as possible, the youngest first.
    pub seed: u64,
    /// `CUDA_EMULATOR_FAIL_ALLOC`: the allocation, counted from 1, of device or pinned memory that fails.
    pub fail_alloc: Option<u64>,
    /// `CUDA_EMULATOR_FAIL_LAUNCH`: the launch, counted from 1, that is refused.
    pub fail_launch: Option<u64>,
    /// `CUDA_EMULATOR_STICKY_AT`: the launch, counted from 1, that ends with a sticky error when it runs.
    pub sticky_at: Option<u64>,
    /// `CUDA_EMULATOR_NO_DEVICE=1`: `cuInit` finds no device.
    pub no_device: bool,
    /// `CUDA_EMULATOR_NO_OP=1`: launches do nothing, to time the host's side. Memory counts as written.
    pub no_op: bool,
    /// `CUDA_EMULATOR_COUNTERS`: file to which each kernel appends a line of JSON. Kernels of a graph's launch have the
    /// same number as `launch`.
    pub counters: Option<PathBuf>,
    /// `CUDA_EMULATOR_LEAKS`: `report` or `error`.
    pub leaks: Leaks,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            devices: 2,
            capability: (8, 0),
            memory: 4 << 30,
            driver_version: 12090,
            seed: 0,
            fail_alloc: None,
            fail_launch: None,
            sticky_at: None,
            no_device: false,
            no_op: false,
            counters: None,
            leaks: Leaks::Report,
        }
    }
}

impl Config {
    /// Reads the variables through `get`.
    ///
    /// # Errors
    /// The first variable whose value is invalid.
    pub fn read(get: &dyn Fn(&str) -> Option<String>) -> Result<Self, String> {
        let base = Self::default();
        let variables = Variables(get);
        Ok(Self {
            devices: variables.number("DEVICES")?.unwrap_or(base.devices.into()).min(16) as u32,
            capability: variables.capability()?.unwrap_or(base.capability),
            memory: variables.number("MEMORY")?.unwrap_or(base.memory),
            driver_version: variables.number("DRIVER_VERSION")?.unwrap_or(base.driver_version.into()) as u32,
            seed: variables.number("SEED")?.unwrap_or(base.seed),
            fail_alloc: variables.number("FAIL_ALLOC")?,
            fail_launch: variables.number("FAIL_LAUNCH")?,
            sticky_at: variables.number("STICKY_AT")?,
            no_device: variables.number("NO_DEVICE")? == Some(1),
            no_op: variables.number("NO_OP")? == Some(1),
            counters: variables.text("COUNTERS").map(PathBuf::from),
            leaks: variables.leaks()?,
        })
    }
}

struct Variables<'a>(&'a dyn Fn(&str) -> Option<String>);

impl Variables<'_> {
    fn text(&self, name: &str) -> Option<String> {
        (self.0)(&format!("CUDA_EMULATOR_{name}")).filter(|text| !text.is_empty())
    }

    fn number(&self, name: &str) -> Result<Option<u64>, String> {
        let parse = |text: String| text.parse().map_err(|_| format!("CUDA_EMULATOR_{name}={text} is no number"));
        self.text(name).map(parse).transpose()
    }

    fn capability(&self) -> Result<Option<(u32, u32)>, String> {
        match self.text("CAPABILITY").as_deref() {
            None => Ok(None),
            Some("7.5") => Ok(Some((7, 5))),
            Some("8.0") => Ok(Some((8, 0))),
            Some("9.0") => Ok(Some((9, 0))),
            Some(text) => Err(format!("CUDA_EMULATOR_CAPABILITY={text}; expected 7.5, 8.0 or 9.0")),
        }
    }

    fn leaks(&self) -> Result<Leaks, String> {
        match self.text("LEAKS").as_deref() {
            None | Some("report") => Ok(Leaks::Report),
            Some("error") => Ok(Leaks::Error),
            Some(text) => Err(format!("CUDA_EMULATOR_LEAKS={text}; expected report or error")),
        }
    }
}
