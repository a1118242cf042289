//! Special registers.

/// A special register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Special {
    /// `%tid` along an axis.
    Tid(u8),
    /// `%ntid` along an axis.
    Ntid(u8),
    /// `%ctaid` along an axis.
    Ctaid(u8),
    /// `%nctaid` along an axis.
    Nctaid(u8),
    /// `%laneid`.
    LaneId,
    /// `%warpid`.
    WarpId,
    /// `%nwarpid`: warps that fit on a multiprocessor.
    NwarpId,
    /// `%smid`.
    SmId,
    /// `%nsmid`.
    NsmId,
    /// `%gridid`.
    GridId,
    /// `%lanemask_eq`.
    LaneMaskEq,
    /// `%lanemask_le`.
    LaneMaskLe,
    /// `%lanemask_lt`.
    LaneMaskLt,
    /// `%lanemask_ge`.
    LaneMaskGe,
    /// `%lanemask_gt`.
    LaneMaskGt,
    /// `%clock`.
    Clock,
    /// `%clock64`.
    Clock64,
    /// `%clock_hi`.
    ClockHi,
    /// `%globaltimer`.
    GlobalTimer,
    /// `%globaltimer_lo`.
    GlobalTimerLow,
    /// `%globaltimer_hi`.
    GlobalTimerHigh,
    /// `%dynamic_smem_size`.
    DynamicSharedBytes,
    /// `%total_smem_size`.
    TotalSharedBytes,
}

use Special as S;

/// Name, bits and register.
const TABLE: &[(&str, u32, Special)] = &[
    ("%tid.x", 32, S::Tid(0)),
    ("%tid.y", 32, S::Tid(1)),
    ("%tid.z", 32, S::Tid(2)),
    ("%ntid.x", 32, S::Ntid(0)),
    ("%ntid.y", 32, S::Ntid(1)),
    ("%ntid.z", 32, S::Ntid(2)),
    ("%ctaid.x", 32, S::Ctaid(0)),
    ("%ctaid.y", 32, S::Ctaid(1)),
    ("%ctaid.z", 32, S::Ctaid(2)),
    ("%nctaid.x", 32, S::Nctaid(0)),
    ("%nctaid.y", 32, S::Nctaid(1)),
    ("%nctaid.z", 32, S::Nctaid(2)),
    ("%laneid", 32, S::LaneId),
    ("%warpid", 32, S::WarpId),
    ("%nwarpid", 32, S::NwarpId),
    ("%smid", 32, S::SmId),
    ("%nsmid", 32, S::NsmId),
    ("%gridid", 64, S::GridId),
    ("%lanemask_eq", 32, S::LaneMaskEq),
    ("%lanemask_le", 32, S::LaneMaskLe),
    ("%lanemask_lt", 32, S::LaneMaskLt),
    ("%lanemask_ge", 32, S::LaneMaskGe),
    ("%lanemask_gt", 32, S::LaneMaskGt),
    ("%clock", 32, S::Clock),
    ("%clock_hi", 32, S::ClockHi),
    ("%clock64", 64, S::Clock64),
    ("%globaltimer", 64, S::GlobalTimer),
    ("%globaltimer_lo", 32, S::GlobalTimerLow),
    ("%globaltimer_hi", 32, S::GlobalTimerHigh),
    ("%dynamic_smem_size", 32, S::DynamicSharedBytes),
    ("%total_smem_size", 32, S::TotalSharedBytes),
];

impl Special {
    /// The register called `name`.
    pub(super) fn by_name(name: &str) -> Option<Special> {
        TABLE.iter().find(|row| row.0 == name).map(|row| row.2)
    }

    /// Its bits.
    pub(super) fn bits(self) -> u32 {
        TABLE.iter().find(|row| row.2 == self).map_or(32, |row| row.1)
    }
}
