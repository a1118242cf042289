//! Changes to the plan of a stage, under the names that schedules have elsewhere.
//!
//! A primitive is an [`Edit`] of loops as plain data; it is refused where what it needs does not hold. Users write them
//! below what a plan begins with (`read/primitives.rs`), and the plans that are tried when kernels are measured are made
//! with them ([`search_space`](super::search_space)). Whether all loops together can compute the stage is asked
//! once, after the last one ([`Edit::finish`]): on the way to an order of loops there may be others that cannot.

mod copies;
mod edit;
mod loops;

pub use edit::{Edit, Fault, Refused};

type Changed = Result<(), Refused>;

/// A primitive, by its name.
pub struct Primitive {
    /// Its name in plans.
    pub name: &'static str,
    /// What it takes.
    pub form: Form,
    /// What it does, and what it needs.
    pub doc: &'static str,
    /// Changes a plan.
    pub apply: fn(&mut Edit, &Args) -> Changed,
}

/// What a primitive takes, and how that is written. A loop is written as it is printed: by its axis, and `by` its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `LOOP by N`.
    Factor,
    /// `LOOP to N`.
    Step,
    /// `LOOP`.
    Loop,
    /// `LOOP grain N`, or without the grain.
    Grain,
    /// `LOOP, LOOP, …`.
    Loops,
    /// `BUFFER as [AXES] at LOOP`: both or one of the two may be left out.
    Copy,
    /// `BUFFER at LOOP`.
    Place,
    /// `BUFFER`.
    Buffer,
    /// `BUFFER along AXIS to N`.
    Room,
    /// Nothing.
    Nothing,
}

impl Form {
    /// How it is written.
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
            Form::Room => "BUFFER along AXIS to N",
            Form::Nothing => "",
        }
    }
}

/// What a primitive is given: the numbers of loops, axes and [parts](crate::stage::access::parts).
#[derive(Default)]
pub struct Args {
    /// Loops.
    pub loops: Vec<usize>,
    /// A factor, a step or a grain.
    pub number: Option<i64>,
    /// What is copied.
    pub part: usize,
    /// The axes of a copy, in the order of its dimensions, or one of them.
    pub axes: Option<Vec<usize>>,
    /// How many loops are around a copy.
    pub inside: Option<usize>,
}

/// All primitives.
pub static PRIMITIVES: &[Primitive] = &[
    Primitive {
        name: "split",
        form: Form::Factor,
        doc: "puts a loop in steps of N around a loop, which then goes through what a step leaves. N is larger than the \
              loop's own step, and no larger than what there is to divide. Steps of terms inside of loops over results are \
              parts that are added up by themselves: not with --strict-order",
        apply: |edit, args| edit.split(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "resplit",
        form: Form::Step,
        doc: "gives a loop in steps other steps, between those of the loops over its axis inside and around",
        apply: |edit, args| edit.resplit(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "fuse",
        form: Form::Loops,
        doc: "makes two loops over one axis, one inside of the other, the inner one. Two axes become one only where memory \
              does not tell them apart, and there they are one already",
        apply: |edit, args| edit.fuse(&args.loops),
    },
    Primitive {
        name: "reorder",
        form: Form::Loops,
        doc: "puts loops in this order, in the places that they have now; copies stay in their loops. Loops over results \
              stay outside of sums, whose tile is in registers",
        apply: |edit, args| edit.reorder(&args.loops),
    },
    Primitive {
        name: "vectorize",
        form: Form::Loop,
        doc: "makes single values lanes of vectors: the last loop over an axis along which memory has neighbours side by \
              side. Lanes of terms need `rfactor`, and an order of their own: not with --strict-order",
        apply: |edit, args| edit.vectorize(args.loops[0]),
    },
    Primitive {
        name: "unroll",
        form: Form::Loop,
        doc: "writes single values out side by side: the last loop over an axis, whose count is known",
        apply: |edit, args| edit.unroll(args.loops[0]),
    },
    Primitive {
        name: "parallel",
        form: Form::Grain,
        doc: "spreads a loop over results over threads, with the loops around it up to the last copy, instead of the loop \
              that was. A thread takes N iterations at least [default: 1]",
        apply: |edit, args| edit.parallel(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "serial",
        form: Form::Loop,
        doc: "takes back `parallel`, `vectorize` and `unroll`",
        apply: |edit, args| edit.serial(args.loops[0]),
    },
    Primitive {
        name: "rfactor",
        form: Form::Factor,
        doc: "sums up in N lanes of vectors, which are added up in the end: makes `LOOP by N`, and lanes of its values the \
              last loop. N is a power of two; not with --strict-order",
        apply: |edit, args| edit.rfactor(args.loops[0], args.number.unwrap_or(1)),
    },
    Primitive {
        name: "tensorize",
        form: Form::Loop,
        doc: "adds several terms to a sum at once, in dot products of the target: of 8-bit integers in int32, or of \
              bfloat16 in float32 (AVX512_BF16, not with --strict-order). Factors whose terms are not side by side need \
              `pack`",
        apply: |edit, args| edit.tensorize(args.loops[0]),
    },
    Primitive {
        name: "cache_read",
        form: Form::Copy,
        doc: "copies what is read of a buffer before it is used, inside of a loop [default: of none], with these axes \
              [default: those that it changes along]. Not what is read under a condition, or at places that are loaded",
        apply: |edit, args| edit.cache_read(args.part, args.axes.clone(), args.inside.unwrap_or(0)),
    },
    Primitive {
        name: "pack",
        form: Form::Buffer,
        doc: "copies a buffer, or the computed `factor` of a product, in the order in which the tile reads it: inside of the \
              loops over results that it changes along, with terms before results",
        apply: |edit, args| edit.pack(args.part),
    },
    Primitive {
        name: "pad",
        form: Form::Room,
        doc: "gives a copy room for more values of an axis, up to a multiple of N, and fills it with zeros; 1 takes that back. \
              Lines of the copy lie farther apart then. Where all that a sum reads along the axis of its vectors is padded to \
              whole ones, no smaller ones follow at the end, if the number of results is known. Lanes of terms may be \
              padded where zeros change no sum",
        apply: |edit, args| edit.pad(args.part, args.axes.as_deref().unwrap_or_default(), args.number.unwrap_or(1)),
    },
    Primitive {
        name: "attach",
        form: Form::Place,
        doc: "makes a copy inside of this loop, or of none with `at root`",
        apply: |edit, args| edit.attach(args.part, args.inside.unwrap_or(0)),
    },
    Primitive {
        name: "inline",
        form: Form::Buffer,
        doc: "leaves out a copy: what it was of is read or computed where it is used",
        apply: |edit, args| edit.inline(args.part),
    },
    Primitive {
        name: "invert_divisor",
        form: Form::Nothing,
        doc: "inverts once what all values along the vectors are divided by, or takes that back; not with --strict-order",
        apply: |edit, _| edit.invert_divisor(),
    },
    Primitive {
        name: "cache_write",
        form: Form::Nothing,
        doc: "keeps sums in registers until all their terms are in, and then stores them: a loop over parts of the terms, which \
              is around loops over results, becomes one with the loop inside. Without such a loop there is nothing to do",
        apply: |edit, _| edit.cache_write(),
    },
];
