//! The kernel of `vision.non_max_suppression`.
//!
//! The boxes of an image are sorted by score. *Hard* suppression then retains each box that no better retained box
//! suppresses. *Soft* suppression repeatedly picks the best remaining box, and scales the scores of overlapping boxes
//! by `exp(-overlap² / 2σ)`.

use super::boxes::{Boxes, require_elements};
use crate::{
    CallContext, dims,
    families::sort::{Order, Sorted},
    legalize::{
        Builder, Combine, Input, Legalized,
        loops::{Cell, each, in_order, when, when_else},
    },
};
use hammock_ir::{
    DType, PrimExpr,
    relax::InferError,
    tir::{Buffer, Stmt},
};

/// Parameters of a call.
struct Suppression<'a> {
    boxes: Boxes<'a>,
    /// Index of each box in the data; -1 for a suppressed box.
    places: &'a Buffer,
    /// Maximum number of output boxes.
    most: Option<i64>,
    overlap: f64,
    /// Index of the class, if only boxes of the same class suppress each other.
    class: Option<i64>,
    /// Exclusive minimum score.
    min_score: f64,
    /// Coefficient of `overlap²` in the exponent of soft suppression.
    decay: Option<f64>,
}

/// Builds the kernel.
pub fn legalize(cx: &CallContext) -> Result<Legalized, InferError> {
    let mut b = Builder::new(cx, "non_max_suppression")?;
    let (data, count, indices) = (b.input("data")?, b.input("valid_count")?, b.input("indices")?);
    let (with_indices, sigma) = (cx.bool("return_indices")?, cx.float("soft_nms_sigma")?);
    let soft = sigma > 0.0;
    let shape = data.shape().to_vec();
    let last = cx.int("score_index")?.max(cx.int("id_index")?).max(cx.int("coord_start")? + 3);
    require_elements(&mut b, &shape[2], last);
    b.require_shape("valid_count", &count, &shape[..1]);
    b.require_shape("indices", &indices, &shape[..2]);
    let to_front = !with_indices && cx.bool("invalid_to_bottom")? && !soft;
    let returned = (!with_indices && !to_front) || (with_indices && soft);
    let buffer = if returned { b.output("boxes")? } else { b.temp("boxes", shape.clone(), data.dtype()) };
    let places = if with_indices { b.output("places")? } else { b.temp("places", shape[..2].to_vec(), DType::INT32) };
    let kept = with_indices.then(|| b.output("kept")).transpose()?;
    let by_class = !cx.bool("force_suppress")? && cx.int("id_index")? >= 0;
    let suppression = Suppression {
        boxes: Boxes { buffer: &buffer, score: cx.int("score_index")?, corners: cx.int("coord_start")? },
        places: &places,
        most: Some(cx.int("max_output_size")?).filter(|n| *n > 0),
        overlap: cx.float("iou_threshold")?,
        class: if by_class { Some(cx.int("id_index")?) } else { None },
        min_score: if soft { cx.float("score_threshold")? } else { 0.0 },
        decay: soft.then(|| -0.5 / sigma),
    };
    let top = Some(cx.int("top_k")?).filter(|k| *k > 0);
    let sorted = by_score(&mut b, &data, &count, suppression.boxes.score);
    b.block("non_max_suppression", &shape[..1], |i| {
        let image = &i[0];
        let valid = count.index_at(i).min(&shape[1]).max(0i64);
        let candidates = top.map_or(valid.clone(), |k| valid.min(k));
        let (live, number) = (Cell::new("candidates", DType::INT64), Cell::new("number", DType::INT64));
        let mut steps: Vec<Stmt> = live.declare(candidates).into();
        steps.extend(number.declare(0i64.into()));
        steps.push(suppression.fill(&data, &sorted, image, &live.get()));
        match suppression.decay {
            Some(decay) => steps.push(suppression.soft(image, &live.get(), &number, decay)),
            None => steps.push(suppression.hard(image, &live.get(), &number)),
        }
        if let Some(kept) = &kept {
            steps.push(suppression.collect(image, &indices, kept, &number));
        }
        in_order(steps)
    });
    if to_front {
        let out = b.output("boxes_in_front")?;
        move_to_front(&mut b, &suppression.boxes, &out);
    }
    Ok(b.finish())
}

/// The indices of boxes sorted by score, invalid ones last.
fn by_score(b: &mut Builder, data: &Input, count: &Input, score: i64) -> Sorted {
    let min_score = Combine::Max.identity(data.dtype());
    let key = b.stage("scores", data.shape()[..2].to_vec(), data.dtype(), |i| {
        let value = data.at(&[i[0].clone(), i[1].clone(), score.into()]);
        i[1].clone().lt(count.index_at(&i[..1])).select(value, min_score)
    });
    Sorted::along(b, &key, 1, Order::Descending, Some(DType::INT32))
}

impl Suppression<'_> {
    fn shape(&self) -> &[PrimExpr] {
        &self.boxes.buffer.shape
    }

    fn place(&self, image: &PrimExpr, j: &PrimExpr) -> PrimExpr {
        PrimExpr::load(self.places, vec![image.clone(), j.clone()])
    }

    fn set_place(&self, image: &PrimExpr, j: &PrimExpr, value: impl Into<PrimExpr>) -> Stmt {
        Stmt::store(self.places, vec![image.clone(), j.clone()], value.into().cast(DType::INT32))
    }

    fn set(&self, image: &PrimExpr, j: &PrimExpr, k: impl Into<PrimExpr>, value: PrimExpr) -> Stmt {
        let buffer = self.boxes.buffer;
        Stmt::store(buffer, vec![image.clone(), j.clone(), k.into()], value.cast(buffer.dtype))
    }

    fn constant(&self, value: f64) -> PrimExpr {
        PrimExpr::float(value, self.boxes.dtype())
    }

    /// Removes box `j`.
    fn clear(&self, image: &PrimExpr, j: &PrimExpr) -> Stmt {
        let row = each("e", self.shape()[2].clone(), |k| self.set(image, j, k, self.constant(-1.0)));
        in_order([row, self.set_place(image, j, -1i64)])
    }

    /// Copies the candidates in order of score and clears the rest.
    fn fill(&self, data: &Input, sorted: &Sorted, image: &PrimExpr, live: &PrimExpr) -> Stmt {
        each("j", self.shape()[1].clone(), |j| {
            let from = sorted.position(&[image.clone(), j.clone()]);
            let at = |k: &PrimExpr| data.at(&[image.clone(), from.clone().cast(DType::INT64), k.clone()]);
            let copy = each("e", self.shape()[2].clone(), |k| self.set(image, j, k, at(k)));
            let taken = in_order([copy, self.set_place(image, j, from.clone())]);
            when_else(j.clone().lt(live), taken, self.clear(image, j))
        })
    }

    /// The condition that a box is still a candidate.
    fn is_live(&self, image: &PrimExpr, j: &PrimExpr) -> PrimExpr {
        self.boxes.score(image, j).gt(self.constant(self.min_score))
    }

    /// The condition that there is room for another box.
    fn has_room(&self, number: &Cell) -> Option<PrimExpr> {
        self.most.map(|most| number.get().lt(most))
    }

    /// The condition that two boxes have the same class, if that matters.
    fn is_same_class(&self, image: &PrimExpr, j: &PrimExpr, k: &PrimExpr) -> Option<PrimExpr> {
        self.class.map(|c| self.boxes.element(image, j, c).eq(self.boxes.element(image, k, c)))
    }

    fn hard(&self, image: &PrimExpr, live: &PrimExpr, number: &Cell) -> Stmt {
        each("j", live.clone(), |j| {
            let keeps = self.has_room(number).into_iter().fold(self.is_live(image, j), PrimExpr::and);
            let later = each("l", live - j - 1i64, |l| {
                let k = &(j + 1i64 + l);
                let meets = self.is_same_class(image, j, k).into_iter().fold(self.is_live(image, k), PrimExpr::and);
                let overlaps = self.boxes.overlap(image, j, k).ge(self.constant(self.overlap));
                let drop = [self.set(image, k, self.boxes.score, self.constant(-1.0)), self.set_place(image, k, -1i64)];
                when(meets, when(overlaps, in_order(drop)))
            });
            when_else(keeps, in_order([number.add(1i64), later]), self.clear(image, j))
        })
    }

    fn soft(&self, image: &PrimExpr, live: &PrimExpr, number: &Cell, decay: f64) -> Stmt {
        let (best, score) = (Cell::new("best", DType::INT64), Cell::new("best_score", self.boxes.dtype()));
        let round = |_: &PrimExpr| {
            let look = each("j", live.clone(), |j| {
                let open = j.clone().ge(number.get()).and(self.place(image, j).ge(PrimExpr::int32(0)));
                let better = open.and(self.boxes.score(image, j).gt(score.get()));
                when(better, in_order([best.set(j.clone()), score.set(self.boxes.score(image, j))]))
            });
            let lower = each("j", live.clone(), |j| self.decay_score(image, j, number, decay));
            let found = in_order([self.swap(image, &number.get(), &best.get()), lower, number.add(1i64)]);
            let mut steps: Vec<Stmt> = best.declare(PrimExpr::int64(-1)).into();
            steps.extend(score.declare(self.constant(self.min_score)));
            steps.extend([look, when(best.get().ge(0i64), found)]);
            let all = in_order(steps);
            self.has_room(number).map(|room| when(room, all.clone())).unwrap_or(all)
        };
        let rounds = each("round", live.clone(), round);
        let rest = each("j", self.shape()[1].clone(), |j| when(j.clone().ge(number.get()), self.clear(image, j)));
        in_order([rounds, rest])
    }

    /// Swaps two boxes.
    fn swap(&self, image: &PrimExpr, j: &PrimExpr, k: &PrimExpr) -> Stmt {
        let (held, place) = (Cell::new("held", self.boxes.buffer.dtype), Cell::new("held_place", DType::INT32));
        let buffer = self.boxes.buffer;
        let row = each("e", self.shape()[2].clone(), |e| {
            let at = |j: &PrimExpr| PrimExpr::load(buffer, vec![image.clone(), j.clone(), e.clone()]);
            let moves = [self.set(image, j, e, at(k)), self.set(image, k, e, held.get())];
            in_order(held.declare(at(j)).into_iter().chain(moves))
        });
        let moves = [self.set_place(image, j, self.place(image, k)), self.set_place(image, k, place.get()), row];
        when(j.clone().ne(k), in_order(place.declare(self.place(image, j)).into_iter().chain(moves)))
    }

    /// Scales the score of box `j` by its overlap with the box picked last.
    fn decay_score(&self, image: &PrimExpr, j: &PrimExpr, number: &Cell, decay: f64) -> Stmt {
        let picked = &number.get();
        let open = j.clone().gt(picked).and(self.place(image, j).ge(PrimExpr::int32(0))).and(self.is_live(image, j));
        let meets = self.is_same_class(image, picked, j).into_iter().fold(open, PrimExpr::and);
        let overlap = Cell::new("overlap", self.boxes.dtype());
        let factor = (self.constant(decay) * overlap.get() * overlap.get()).unary("exp");
        let lower = self.set(image, j, self.boxes.score, self.boxes.score(image, j) * factor);
        let gone = self.is_live(image, j).not();
        let lowered = in_order([lower, when(gone, self.set_place(image, j, -1i64))]);
        let drop = self.set_place(image, j, -1i64);
        let choose = when_else(overlap.get().ge(self.constant(self.overlap)), drop, lowered);
        let steps = overlap.declare(self.boxes.overlap(image, picked, j)).into_iter().chain([choose]);
        when(meets, in_order(steps))
    }

    /// Moves the indices of the remaining boxes to the front, and counts them.
    fn collect(&self, image: &PrimExpr, indices: &Input, kept: &Buffer, number: &Cell) -> Stmt {
        let last = dims::offset(&self.shape()[1], -1);
        let move_one = each("j", self.shape()[1].clone(), |j| {
            let place = self.place(image, j);
            let from = place.clone().cast(DType::INT64).min(last);
            let index = indices.at(&[image.clone(), from]);
            let take = in_order([self.set_place(image, &number.get(), index), number.add(1i64)]);
            when(place.ge(PrimExpr::int32(0)), take)
        });
        let rest =
            each("j", self.shape()[1].clone(), |j| when(j.clone().ge(number.get()), self.set_place(image, j, -1i64)));
        let count = Stmt::store(kept, vec![image.clone(), 0i64.into()], number.get().cast(DType::INT32));
        in_order([number.set(0i64.into()), move_one, count, rest])
    }
}

/// Moves the remaining boxes to the front.
fn move_to_front(b: &mut Builder, boxes: &Boxes, out: &Buffer) {
    b.block("to_front", &out.shape[..1], |i| {
        let (image, next) = (&i[0], Cell::new("next", DType::INT64));
        let store = |j: &PrimExpr, k: &PrimExpr, value: PrimExpr| {
            Stmt::store(out, vec![image.clone(), j.clone(), k.clone()], value.cast(out.dtype))
        };
        let copy = each("j", out.shape[1].clone(), |j| {
            let at = |k: &PrimExpr| PrimExpr::load(boxes.buffer, vec![image.clone(), j.clone(), k.clone()]);
            let row = each("e", out.shape[2].clone(), |k| store(&next.get(), k, at(k)));
            let left = boxes.score(image, j).ge(PrimExpr::float(0.0, boxes.dtype()));
            when(left, in_order([row, next.add(1i64)]))
        });
        let rest = each("j", out.shape[1].clone(), |j| {
            let row = each("e", out.shape[2].clone(), |k| store(j, k, PrimExpr::constant(-1.0, out.dtype)));
            when(j.clone().ge(next.get()), row)
        });
        in_order(next.declare(0i64.into()).into_iter().chain([copy, rest]))
    });
}
