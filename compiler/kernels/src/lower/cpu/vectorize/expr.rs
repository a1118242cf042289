//! Vectorization of expressions.

use super::Vectorizer;
use hammock_ir::{
    DType, PrimExpr,
    prim::{
        BinaryOp, PrimCall, PrimCallee, PrimKind, binary,
        check::{self, divides, may_fail},
        flat::Dot,
        intrinsics,
    },
    tir::Buffer,
};
use hammock_loopnest::{conjuncts, index::Poly};

impl Vectorizer {
    /// Returns an expression as a vector if it varies between iterations, otherwise as a scalar; `None` if there is no
    /// vector form.
    pub fn expr(&mut self, e: &PrimExpr) -> Option<PrimExpr> {
        if !self.varies(e) && (self.mask.is_none() || !may_fail(e)) {
            return Some(e.clone());
        }
        if e.dtype().is_vector() {
            return None;
        }
        if e.dtype() == DType::INT64
            && let Some(ramp) = self.ramp(e).or_else(|| self.row_positions(e))
        {
            return Some(ramp);
        }
        let ty = e.dtype().with_lanes(self.lanes);
        match e.kind() {
            PrimKind::Var(v) if *v == self.var => {
                Some(PrimExpr::ramp(self.min.clone(), PrimExpr::int64(1), self.lanes))
            }
            PrimKind::Var(v) => self.vectors.get(v).cloned(),
            PrimKind::Binary(op, a, b) => {
                let (a, mut b) = (self.vector(a)?, self.vector(b)?);
                let by_constant = matches!(b.kind(), PrimKind::Broadcast(d) if d.as_int().is_some_and(|d| d != 0));
                if divides(*op) && !e.dtype().is_floating() && !by_constant {
                    b = self.fill_inactive(b, 1)?;
                }
                Some(binary(*op, a, b))
            }
            PrimKind::Not(a) => Some(self.vector(a)?.not()),
            PrimKind::Cast(a) => Some(self.vector(a)?.cast(ty)),
            PrimKind::Select(c, a, b) => {
                let c = self.expr(c)?;
                Some(c.select(self.vector(a)?, self.vector(b)?))
            }
            PrimKind::Load(buffer, indices, mask) => self.load(buffer, indices, mask.as_ref()),
            PrimKind::Let(var, value, body) => {
                let value = self.vector(value)?;
                let vector = hammock_ir::prim::Var::new(var.name().clone(), value.dtype());
                self.vectors.insert(var.clone(), vector.expr());
                Some(PrimExpr::bind(vector, value, self.vector(body)?))
            }
            PrimKind::Call(call) => self.call(e, call, ty),
            _ => None,
        }
    }

    fn vector(&mut self, e: &PrimExpr) -> Option<PrimExpr> {
        let value = self.expr(e)?;
        Some(self.broadcast(value))
    }

    /// Returns the ramp of an index that is affine in the loop variable. Checks in it are uniform and run
    /// unconditionally.
    fn ramp(&self, e: &PrimExpr) -> Option<PrimExpr> {
        if self.vectors.keys().any(|v| e.uses(v)) || self.mask.is_some() && may_fail(e) {
            return None;
        }
        let poly = self.simplifier.poly(e);
        let stride = poly.coefficient(&self.var).filter(|s| !s.is_zero())?;
        let var = Poly::atom(self.var.expr());
        let base = &(&poly - &(&stride * &var)) + &(&stride * &self.simplifier.poly(&self.min));
        Some(PrimExpr::ramp(base.to_expr(), stride.to_expr(), self.lanes))
    }

    /// Returns the lanes of an index that is affine in quotients and remainders of the lane: constants added to a
    /// broadcast.
    fn row_positions(&self, e: &PrimExpr) -> Option<PrimExpr> {
        let (own, base) = self.varying_terms(e)?;
        let lane = PrimExpr::ramp(PrimExpr::int64(0), PrimExpr::int64(1), self.lanes);
        let spread = |value: i64| PrimExpr::int64(value).broadcast(self.lanes);
        let term = |(atoms, factor): (&[PrimExpr], i64)| {
            let [atom] = atoms else { return None };
            let PrimKind::Binary(op @ (BinaryOp::FloorDiv | BinaryOp::FloorMod), ..) = atom.kind() else { return None };
            let count = self.lane_divisor(atom, *op)?;
            Some(binary(*op, lane.clone(), spread(count)) * spread(factor))
        };
        let terms = own.terms().map(term).collect::<Option<Vec<_>>>()?.into_iter();
        let positions = terms.reduce(|sum, term| sum + term)?;
        Some(base.to_expr().broadcast(self.lanes) + positions)
    }

    /// Replaces inactive lanes of a vector by a harmless value.
    fn fill_inactive(&mut self, vector: PrimExpr, harmless: i64) -> Option<PrimExpr> {
        match self.mask_vector()? {
            Some(mask) if !check::is_check(&vector) => {
                let harmless = PrimExpr::int(harmless, vector.dtype().element()).broadcast(self.lanes);
                Some(mask.select(vector, harmless))
            }
            _ => Some(vector),
        }
    }

    fn load(&mut self, buffer: &Buffer, indices: &[PrimExpr], mask: Option<&PrimExpr>) -> Option<PrimExpr> {
        let [index] = indices else { return None };
        if let (None, None) = (mask, &self.mask)
            && let Some(shuffled) = self
                .broadcast_load(buffer, index)
                .or_else(|| self.periodic_load(buffer, index))
                .or_else(|| self.interleaved(buffer, index))
        {
            return Some(shuffled);
        }
        let index = self.vector(index)?;
        let mask = match mask {
            Some(own) => self.within(own, |v| v.mask_vector())??,
            None => self.mask_vector()?,
        };
        Some(PrimExpr::load_masked(buffer, vec![index], mask))
    }

    /// Vectorizes a load in which runs of lanes read the same element: loads each element once.
    fn broadcast_load(&self, buffer: &Buffer, index: &PrimExpr) -> Option<PrimExpr> {
        let (own, base) = self.varying_terms(index).filter(|_| buffer.dtype.is_scalar())?;
        let mut terms = own.terms();
        let ([atom], 1) = terms.next()? else { return None };
        let count = self.lane_divisor(atom, BinaryOp::FloorDiv)?;
        if terms.next().is_some() {
            return None;
        }
        let lanes = i64::from(self.lanes);
        let loaded = (lanes + count - 1) / count;
        if loaded == 1 {
            return Some(PrimExpr::load(buffer, vec![base.to_expr()]).broadcast(self.lanes));
        }
        let at = PrimExpr::ramp(base.to_expr(), PrimExpr::int64(1), loaded as u16);
        let chosen = (0..lanes).map(|lane| PrimExpr::int64(lane / count)).collect();
        let ty = buffer.dtype.with_lanes(self.lanes);
        Some(PrimExpr::new(PrimKind::Shuffle(vec![PrimExpr::load(buffer, vec![at])], chosen), ty))
    }

    /// Vectorizes a load of the same few elements over and over: loads them once, and repeats them.
    fn periodic_load(&self, buffer: &Buffer, index: &PrimExpr) -> Option<PrimExpr> {
        let (own, base) = self.varying_terms(index).filter(|_| buffer.dtype.is_scalar())?;
        let mut terms = own.terms();
        let (Some(([atom], 1)), None) = (terms.next(), terms.next()) else { return None };
        let period = self.lane_divisor(atom, BinaryOp::FloorMod).filter(|period| *period < i64::from(self.lanes))?;
        let at = PrimExpr::ramp(base.to_expr(), PrimExpr::int64(1), period as u16);
        let chosen = (0..i64::from(self.lanes)).map(|lane| PrimExpr::int64(lane % period)).collect();
        let ty = buffer.dtype.with_lanes(self.lanes);
        Some(PrimExpr::new(PrimKind::Shuffle(vec![PrimExpr::load(buffer, vec![at])], chosen), ty))
    }

    /// Vectorizes a load that interleaves several rows: loads pieces of the rows, and shuffles them.
    fn interleaved(&self, buffer: &Buffer, index: &PrimExpr) -> Option<PrimExpr> {
        let (own, base) = self.varying_terms(index).filter(|_| buffer.dtype.is_scalar())?;
        let place = |atoms: &[PrimExpr], factor: i64| match atoms {
            [atom] if factor == 1 => self.lane_divisor(atom, BinaryOp::FloorDiv),
            _ => None,
        };
        let count = own.terms().find_map(|(atoms, factor)| place(atoms, factor))?;
        let (_, rows) = own.partition(|atoms, factor| place(atoms, factor) == Some(count));
        let mut rows = rows.terms();
        let (Some((atoms, factor)), None) = (rows.next(), rows.next()) else { return None };
        let lanes = i64::from(self.lanes);
        let row = atoms.iter().position(|atom| self.lane_divisor(atom, BinaryOp::FloorMod) == Some(count))?;
        let others: Vec<PrimExpr> = [&atoms[..row], &atoms[row + 1..]].concat();
        if lanes < 2 * count || others.iter().any(|other| other.uses(&self.var)) {
            return None;
        }
        let width = others.into_iter().map(Poly::atom).fold(Poly::constant(factor), |width, other| &width * &other);
        let lengths: Vec<i64> = (0..count).map(|row| (lanes - row + count - 1) / count).collect();
        let piece = |(row, length): (i64, &i64)| {
            let start = &base + &width.scale(row);
            PrimExpr::load(buffer, vec![PrimExpr::ramp(start.to_expr(), PrimExpr::int64(1), *length as u16)])
        };
        let pieces = (0..).zip(&lengths).map(piece).collect();
        let before = |row: i64| lengths[..row as usize].iter().sum::<i64>();
        let chosen = (0..lanes).map(|lane| PrimExpr::int64(before(lane % count) + lane / count)).collect();
        let ty = buffer.dtype.with_lanes(self.lanes);
        Some(PrimExpr::new(PrimKind::Shuffle(pieces, chosen), ty))
    }

    /// Splits an index into the terms that vary between lanes, and the others; lanes count from zero.
    fn varying_terms(&self, index: &PrimExpr) -> Option<(Poly, Poly)> {
        let zero = self.min.as_int() == Some(0);
        if !zero || may_fail(index) || self.vectors.keys().any(|v| index.uses(v)) {
            return None;
        }
        Some(self.simplifier.poly(index).partition(|atoms, _| atoms.iter().any(|atom| atom.uses(&self.var))))
    }

    /// Returns the constant by which an atom divides the lane index, for a quotient or a remainder.
    fn lane_divisor(&self, atom: &PrimExpr, of: BinaryOp) -> Option<i64> {
        match atom.kind() {
            PrimKind::Binary(op, place, count) if *op == of && place.as_var() == Some(&self.var) => {
                count.as_int().filter(|count| *count > 1)
            }
            _ => None,
        }
    }

    fn call(&mut self, e: &PrimExpr, call: &PrimCall, ty: DType) -> Option<PrimExpr> {
        let PrimCallee::Intrin(name) = &call.callee else { return None };
        match (name.as_str(), call.args.as_slice()) {
            ("if_then_else", [condition, a, b]) => self.lazy_select(condition, a, b),
            ("likely", [value]) => self.expr(value),
            (check::DIVISOR | check::COUNT, [operand, rest @ ..]) => {
                let operand = self.vector(operand)?;
                let operand = self.fill_inactive(operand, i64::from(name == check::DIVISOR))?;
                let args = [operand].into_iter().chain(rest.iter().cloned()).collect();
                Some(PrimExpr::intrin(name.clone(), args, ty))
            }
            (known, args) if intrinsics::lanes(known).is_some() || Dot::named(known).is_some() => {
                let args = args.iter().map(|a| self.vector(a)).collect::<Option<_>>()?;
                Some(PrimExpr::intrin(name.clone(), args, ty))
            }
            _ => {
                debug_assert!(!e.dtype().is_vector());
                None
            }
        }
    }

    /// Vectorizes a lazy select: a uniform condition stays a branch, others select between masked values. If masks are
    /// free, a masked load is preferred to a branch.
    fn lazy_select(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
        let (common, own): (Vec<_>, Vec<_>) = conjuncts(condition).into_iter().partition(|c| !self.varies(c));
        let lanes = self.lanes;
        let both =
            |condition: PrimExpr, a: PrimExpr, b: PrimExpr| condition.if_then_else(spread(a, lanes), spread(b, lanes));
        let (common, own) = (common.into_iter().reduce(PrimExpr::and), own.into_iter().reduce(PrimExpr::and));
        if self.masks && own.is_some() && self.has_contiguous_loads(a) && !may_fail(condition) && !may_fail(b) {
            return self.select_masked(condition, a, b);
        }
        match (common, own) {
            (Some(common), None) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                Some(both(common, a, b))
            }
            (Some(common), Some(own)) if !may_fail(b) => {
                let inner = self.select_masked(&own, a, b)?;
                let outer = self.expr(b)?;
                Some(both(common, inner, outer))
            }
            _ => self.select_masked(condition, a, b),
        }
    }

    fn has_contiguous_loads(&self, e: &PrimExpr) -> bool {
        let PrimKind::Load(_, indices, None) = e.kind() else { return false };
        let [index] = indices.as_slice() else { return false };
        let ramp = self.ramp(index);
        ramp.is_some_and(|ramp| matches!(ramp.kind(), PrimKind::Ramp(_, stride) if stride.as_int() == Some(1)))
    }

    fn select_masked(&mut self, condition: &PrimExpr, a: &PrimExpr, b: &PrimExpr) -> Option<PrimExpr> {
        let chosen = |v: &mut Self, e: &PrimExpr, condition: &PrimExpr| match may_fail(e) {
            true => v.within(condition, |v| v.vector(e))?,
            false => v.vector(e),
        };
        let (x, y) = (chosen(self, a, condition)?, chosen(self, b, &condition.clone().not())?);
        Some(self.vector(condition)?.select(x, y))
    }
}

fn spread(e: PrimExpr, lanes: u16) -> PrimExpr {
    if e.dtype().is_scalar() { e.broadcast(lanes) } else { e }
}
