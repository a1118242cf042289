//! Schedule primitives, with the names that other schedule languages use.
//!
//! A primitive is an [`Edit`] of loops as plain data; it is rejected if its requirements do not hold. Users write them
//! below an initial plan (`read/primitives.rs`), and the autotuner makes its candidates with them
//! ([`search_space`](super::search_space)). The whole plan is checked only once, at the end ([`Edit::finish`]), since
//! intermediate loop orders may be invalid.

mod copies;
mod edit;
mod loops;

pub use edit::{Edit, Fault, Rejection};

type EditResult = Result<(), Rejection>;

/// A primitive.
pub struct Primitive {
    /// Name in plans.
    pub name: &'static str,
    /// Form of its arguments.
    pub form: Form,
    /// Effect and requirements.
    pub doc: &'static str,
    /// Applies it to a plan.
    pub apply: fn(&mut Edit, &Args) -> EditResult,
}

/// Form of a primitive's arguments. A loop is written as it is printed: its axis, and `by` its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `LOOP by N`.
    Factor,
    /// `LOOP to N`.
    Step,
    /// `LOOP`.
    Loop,
    /// `LOOP grain N`; the grain may be omitted.
    Grain,
    /// `LOOP, LOOP, …`.
    Loops,
    /// `BUFFER as [AXES] at LOOP`; the axes or the loop may be omitted.
    Copy,
    /// `BUFFER at LOOP`.
    Place,
    /// `BUFFER`.
    Buffer,
    /// `BUFFER along AXIS to N`.
    Padding,
    /// Nothing.
    Nothing,
}

impl Form {
    /// Returns the syntax.
    pub fn syntax(self) -> &'static str {
        match self {
            Form::Factor => "LOOP by N",
            Form::Step => "LOOP to N",
            Form::Loop => "LOOP",
            Form::Grain => "LOOP [grain N]",
            Form::Loops => "LOOP, LOOP, …",
            Form::Copy => "BUFFER [as [AXES]] [at LOOP]",
            Form::Place => "BUFFER at LOOP",
            Form::Buffer => "BUFFER",
            Form::Padding => "BUFFER along AXIS to N",
            Form::Nothing => "",
        }
    }
}

/// Arguments of a primitive: indices of loops, axes and [parts](hammock_loopnest::access::parts).
#[derive(Default)]
pub struct Args {
    /// Loops.
    pub loops: Vec<usize>,
    /// A factor, a step or a grain.
    pub number: Option<i64>,
    /// Operand to copy.
    pub part: usize,
    /// Axes of a copy, in the order of its dimensions, or the axis to pad.
    pub axes: Option<Vec<usize>>,
    /// Number of loops around a copy.
    pub inside: Option<usize>,
}

/// All primitives.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive {
        name: "split",
        form: Form::Factor,
        doc: "strip-mines a loop: adds an outer loop with step N. N is larger than the loop's own step, and at most \
              its extent. Inside of loops over results it splits a reduction into partial accumulators: not with \
              --strict-order",
        apply: |edit, args| edit.split(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "resplit",
        form: Form::Step,
        doc: "changes the step of a loop, between those of the inner and outer loops over its axis",
        apply: |edit, args| edit.resplit(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "fuse",
        form: Form::Loops,
        doc: "replaces two consecutive loops over one axis by the inner one. Axes that are contiguous in every access \
              are collapsed already; others cannot be fused",
        apply: |edit, args| edit.fuse(&args.loops),
    },
    Primitive {
        name: "reorder",
        form: Form::Loops,
        doc: "permutes loops within the positions that they occupy; copies stay in their loops. Loops over results \
              stay outside reductions, whose tile is in registers",
        apply: |edit, args| edit.reorder(&args.loops),
    },
    Primitive {
        name: "vectorize",
        form: Form::Loop,
        doc: "vectorizes the last loop over an axis that is contiguous. Horizontal reductions need `rfactor`, and are \
              reordered: not with --strict-order",
        apply: |edit, args| edit.vectorize(args.loops[0]),
    },
    Primitive {
        name: "unroll",
        form: Form::Loop,
        doc: "unrolls the last loop over an axis, whose trip count is constant",
        apply: |edit, args| edit.unroll(args.loops[0]),
    },
    Primitive {
        name: "parallel",
        form: Form::Grain,
        doc: "parallelizes a loop over results, collapsed with enclosing loops up to the last copy, instead of the \
              loop that was parallel. A thread runs at least N iterations [default: 1]",
        apply: |edit, args| edit.parallel(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "serial",
        form: Form::Loop,
        doc: "undoes `parallel`, `vectorize` and `unroll`",
        apply: |edit, args| edit.serial(args.loops[0]),
    },
    Primitive {
        name: "rfactor",
        form: Form::Factor,
        doc: "reduces into N vector lanes, which are combined at the end: splits `LOOP by N`, and vectorizes the inner \
              loop as the last one. N is a power of two; not with --strict-order",
        apply: |edit, args| edit.rfactor(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "tensorize",
        form: Form::Loop,
        doc: "reduces by dot instructions of the target: 8-bit integers in int32, or bfloat16 in float32 (AVX512_BF16, \
              not with --strict-order). Operands that are not contiguous along the reduction need `pack`",
        apply: |edit, args| edit.tensorize(args.loops[0]),
    },
    Primitive {
        name: "cache_read",
        form: Form::Copy,
        doc: "copies the part of a buffer that a loop reads, inside of that loop [default: outside all loops], with \
              these axes [default: all that it varies along]. Not for conditional loads or indirect indices",
        apply: |edit, args| edit.cache_read(args.part, args.axes.clone(), args.inside.unwrap_or(0)),
    },
    Primitive {
        name: "pack",
        form: Form::Buffer,
        doc: "packs a buffer, or a computed `operand` of a contraction, in the order in which the tile reads \
              it: inside of the loops over results that it varies along, with reduction axes before spatial ones",
        apply: |edit, args| edit.pack(args.part),
    },
    Primitive {
        name: "pad",
        form: Form::Padding,
        doc: "pads an axis of a copy with zeros to a multiple of N; 1 removes the padding. This also changes the row \
              stride of the copy. If all operands along the vector axis are padded to full vectors, there is no vector \
              tail, provided that the extent is constant. Horizontal reductions may be padded if zeros do not change \
              the result",
        apply: |edit, args| edit.pad(args.part, args.axes.as_deref().unwrap_or_default(), args.number.unwrap_or(1)),
    },
    Primitive {
        name: "attach",
        form: Form::Place,
        doc: "moves a copy into this loop, or outside all loops with `at root`",
        apply: |edit, args| edit.attach(args.part, args.inside.unwrap_or(0)),
    },
    Primitive {
        name: "inline",
        form: Form::Buffer,
        doc: "removes a copy: its operand is loaded or computed where it is used",
        apply: |edit, args| edit.inline(args.part),
    },
    Primitive {
        name: "hoist_reciprocal",
        form: Form::Nothing,
        doc: "hoists the reciprocal of a divisor that is invariant along the vector axis, or undoes that; not with \
              --strict-order",
        apply: |edit, _| edit.hoist_reciprocal(),
    },
    Primitive {
        name: "cache_write",
        form: Form::Nothing,
        doc: "accumulates in registers until a reduction is complete: fuses the loop that splits it outside of the \
              loops over results with the inner one. There must be such a loop",
        apply: |edit, _| edit.cache_write(),
    },
];
