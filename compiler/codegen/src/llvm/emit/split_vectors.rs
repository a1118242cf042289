//! Splits vectors of any length into registers, for functions of whole registers.

use super::{Emitter, Value};

impl Emitter<'_, '_> {
    /// Applies a lanewise function that exists for registers of up to `full` lanes: splits the operands into pieces of
    /// 4, 8, … lanes; the padding of the last one is arbitrary.
    pub(super) fn per_register<const N: usize>(
        &mut self,
        values: [&Value; N],
        lanes: u16,
        full: u16,
        f: &mut dyn FnMut(&mut Self, [Value; N]) -> Value,
    ) -> Value {
        let mut all: Option<Value> = None;
        for start in (0..lanes).step_by(full.into()) {
            let count = full.min(lanes - start);
            let pieces = values.map(|value| self.piece(value, start, count));
            let result = f(self, pieces);
            let result = self.first_lanes(&result, count);
            all = Some(match all {
                Some(all) => self.concat(&all, &result),
                None => result,
            });
        }
        all.unwrap_or_else(|| Value::poison(values[0].ty))
    }

    /// Returns `count` lanes of a vector, padded to the width of an instruction.
    fn piece(&mut self, value: &Value, start: u16, count: u16) -> Value {
        let wide = count.next_power_of_two().max(4);
        if value.ty.lanes == 1 {
            return self.f.insert(&Value::poison(value.ty.with_lanes(wide)), value, 0);
        }
        if value.ty.lanes == wide {
            return value.clone();
        }
        let lanes = (0..wide).map(|lane| usize::from(start + if lane < count { lane } else { 0 }));
        self.f.shuffle(value, &Value::poison(value.ty), lanes)
    }

    fn first_lanes(&mut self, value: &Value, count: u16) -> Value {
        match count {
            1 => self.f.extract(value, 0),
            _ if value.ty.lanes == count => value.clone(),
            _ => self.f.shuffle(value, &Value::poison(value.ty), 0..count.into()),
        }
    }

    /// Concatenates two vectors.
    pub(super) fn concat(&mut self, a: &Value, b: &Value) -> Value {
        let (first, second) = (usize::from(a.ty.lanes), usize::from(b.ty.lanes));
        let widest = first.max(second) as u16;
        let [a, b] = [a, b].map(|value| match value.ty.lanes {
            1 => self.f.splat(value, widest),
            lanes if lanes == widest => value.clone(),
            lanes => {
                let lanes = (0..widest).map(|lane| usize::from(lane.min(lanes - 1)));
                self.f.shuffle(value, &Value::poison(value.ty), lanes)
            }
        });
        let lanes = (0..first).chain((0..second).map(|lane| usize::from(widest) + lane));
        self.f.shuffle(&a, &b, lanes)
    }
}
