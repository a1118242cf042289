//! Convolutions, and estimates of the multiplications that algorithms for them take.

use hammock_ir::{
    AttrValue, DType, Module, PrimExpr, TensorType,
    relax::{Call, Callee, Function, Operand, Value},
};
use hammock_ops::{WinogradTiles, layout::Layout};
use hammock_target::assumed_machine::{L2_BYTES, L2_SET_STRIDE};
use std::ops::Range;

/// Cost of moving or transforming one element of data or results, and of reading one weight from memory, in
/// multiplications of 9 ps. By Winograd's algorithm, a convolution with 64 channels of 56x56 elements takes 0.4 of the
/// time, with 256 of 14x14 0.5 of it, but with 16 of 224x224 or 512 of 7x7 1.5 times as long: there is too much to
/// transform, or there are more weights than data.
const ELEMENT_COST: i64 = 25;
const WEIGHT_COST: i64 = 20;
/// Cost of a call of a kernel, in multiplications: about a microsecond.
const CALL_COST: i64 = 100_000;
/// The parts of the transformed data alias in the L2 cache if their stride is a multiple of this, because they map to
/// two sets: the transform takes three times as long, e.g. for 128x128 elements of 32 channels.
const ALIASING_STRIDE: i64 = L2_SET_STRIDE / 2;

/// An element of a kernel, with the results along each spatial axis for which it is inside the data.
pub type Tap = Vec<(i64, Range<i64>)>;

/// A call of a convolution without blocked layouts.
pub struct Convolution {
    pub data: Operand,
    pub weights: Operand,
    /// Letters of the data's primal axes, as `NCHW`, and of the kernel's, as `OIHW`.
    pub primal: &'static str,
    pub kernel_primal: &'static str,
    pub data_layout: Layout,
    pub kernel_layout: Layout,
    pub out_layout: Layout,
    /// Sizes of data, kernel and results over their primal axes.
    pub sizes: Vec<PrimExpr>,
    pub kernel: Vec<PrimExpr>,
    pub results: Vec<PrimExpr>,
    /// Of each spatial axis.
    pub strides: Vec<i64>,
    pub dilation: Vec<i64>,
    pub before: Vec<i64>,
    pub after: Vec<i64>,
    pub groups: i64,
    /// Dtype of the operands, and of the results.
    pub operand_dtype: DType,
    pub dtype: DType,
}

impl Convolution {
    /// Returns the convolution that a value computes; `None` if it is another value, or sizes along the window's axes
    /// are unknown.
    pub fn of(module: &Module, function: &Function, value: &Value) -> Option<Convolution> {
        let Value::Call(call) = value else { return None };
        let Callee::Op(name) = &call.callee else { return None };
        let (primal, kernel_primal) = match &**name {
            "nn.conv1d" => ("NCW", "OIW"),
            "nn.conv2d" => ("NCHW", "OIHW"),
            "nn.conv3d" => ("NCDHW", "OIDHW"),
            _ => return None,
        };
        let [data, weights] = call.operands()?;
        let (data_ty, weights_ty) = (tensor(module, function, data)?, tensor(module, function, weights)?);
        let operand_dtype = data_ty.dtype.filter(|dtype| weights_ty.dtype == Some(*dtype))?;
        let dtype = result_dtype(call, operand_dtype)?;
        let layout_of = |name: &str, axes: &str| {
            let layout = Layout::parse(call.attrs.get(name)?.as_str()?)?;
            (layout.is_layout_of(axes) && !layout.has_blocks()).then_some(layout)
        };
        let data_layout = layout_of("data_layout", primal)?;
        let kernel_layout = layout_of("kernel_layout", kernel_primal)?;
        let sizes = data_layout.to_primal(primal, data_ty.dims()?);
        let kernel = kernel_layout.to_primal(kernel_primal, weights_ty.dims()?);
        let padding = ints(call, "padding")?;
        let (before, after) = padding.split_at_checked(primal.len() - 2)?;
        let mut convolution = Convolution {
            data: data.clone(),
            weights: weights.clone(),
            primal,
            kernel_primal,
            out_layout: layout_of("out_layout", primal).unwrap_or_else(|| data_layout.clone()),
            data_layout,
            kernel_layout,
            results: vec![sizes[0].clone(), kernel[0].clone()],
            sizes,
            kernel,
            strides: ints(call, "strides")?,
            dilation: ints(call, "dilation")?,
            before: before.to_vec(),
            after: after.to_vec(),
            groups: call.attrs.get("groups")?.as_int()?,
            operand_dtype,
            dtype,
        };
        let positions: Vec<i64> =
            (0..primal.len() - 2).map(|axis| convolution.positions(axis)).collect::<Option<_>>()?;
        convolution.results.extend(positions.into_iter().map(PrimExpr::from));
        data_ty.vdevice.is_none().then_some(convolution)
    }

    /// Number of the window's elements along a spatial axis.
    pub fn taps(&self, axis: usize) -> Option<i64> {
        self.kernel[axis + 2].as_int()
    }

    /// Size of the data along a spatial axis.
    pub fn size(&self, axis: usize) -> Option<i64> {
        self.sizes[axis + 2].as_int()
    }

    /// Number of spatial axes.
    pub fn rank(&self) -> usize {
        self.primal.len() - 2
    }

    /// Number of results along a spatial axis.
    fn positions(&self, axis: usize) -> Option<i64> {
        let reach = self.dilation[axis].checked_mul(self.taps(axis)? - 1)?;
        let room = self.size(axis)?.checked_add(self.before[axis])?.checked_add(self.after[axis])? - reach - 1;
        (room >= 0).then(|| room / self.strides[axis] + 1)
    }

    /// Returns the results along a spatial axis for which an element of the window is inside the data.
    pub fn inside(&self, axis: usize, tap: i64) -> Option<Range<i64>> {
        let (stride, count) = (self.strides[axis], self.results[axis + 2].as_int()?);
        // Result `i` reads `i * stride + offset`.
        let offset = tap.checked_mul(self.dilation[axis])?.checked_sub(self.before[axis])?;
        let first_from = |bound: i64| (bound.saturating_sub(offset).max(0) as u64).div_ceil(stride as u64) as i64;
        let (first, end) = (first_from(0).min(count), first_from(self.size(axis)?).min(count));
        Some(first..end.max(first))
    }

    /// Returns the elements of the kernel that are inside the data for some results, those with most results first, if
    /// their results can be computed by matmuls and summed.
    pub fn inside_taps(&self) -> Option<Vec<Tap>> {
        if self.groups != 1 || !self.has_floats() || !self.operand_dtype.is_scalar() {
            return None;
        }
        let mut taps: Vec<Tap> = vec![Vec::new()];
        for axis in 0..self.rank() {
            let along: Vec<(i64, Range<i64>)> =
                (0..self.taps(axis)?).map(|tap| Some((tap, self.inside(axis, tap)?))).collect::<Option<_>>()?;
            let along: Vec<_> = along.into_iter().filter(|(_, results)| !results.is_empty()).collect();
            let with =
                |tap: &Tap| along.iter().map(|one| [&tap[..], std::slice::from_ref(one)].concat()).collect::<Vec<_>>();
            taps = taps.iter().flat_map(with).collect();
        }
        taps.sort_by_key(|tap| -area(tap));
        (!taps.is_empty()).then_some(taps)
    }

    /// Multiplications of one matmul for each element of the kernel, with the cost of moving data and results; `None`
    /// if that does not apply.
    pub fn kn2row_cost(&self) -> Option<i64> {
        let [batch, into, from] = [&self.results[0], &self.sizes[1], &self.results[1]].map(extent);
        let taps = self.inside_taps()?;
        let costs = taps.iter().map(|tap| {
            let positions = area(tap).saturating_mul(batch);
            let moved = product([positions, into.saturating_add(from), ELEMENT_COST]);
            product([positions, into, from]).saturating_add(moved).saturating_add(CALL_COST)
        });
        Some(costs.fold(0, i64::saturating_add))
    }

    /// Returns true if operands are floats of one dtype, and results are of the same or in float32.
    fn has_floats(&self) -> bool {
        let is_float = self.operand_dtype.is_float() || self.operand_dtype.is_bfloat16();
        is_float && (self.dtype == self.operand_dtype || self.dtype == DType::FLOAT32)
    }

    /// Multiplications of the definition.
    pub fn direct_cost(&self) -> i64 {
        product(self.results.iter().chain(&self.kernel[1..]).map(extent))
    }

    /// Multiplications of Winograd's algorithm, with the cost of its transforms; `None` if it does not apply. If the rows
    /// of data for a row of tiles exceed the L2 cache, their transforms take twice as long, e.g. of 256 channels of 50
    /// elements.
    pub fn winograd_cost(&self) -> Option<i64> {
        let tiles = self.winograd_tiles()?;
        let [into, from] = [extent(&self.sizes[1]), extent(&self.results[1])];
        let counts = tiles.iter().zip(&self.results[2..]).map(|(tiles, results)| tiles.count(extent(results)));
        let tile_count = product(counts.chain([extent(&self.results[0])]));
        let taps = product(tiles.iter().map(|tiles| tiles.input()));
        let weights = product([from, extent(&self.kernel[1])]);
        let is_aliasing = |channels: i64| product([tile_count, channels, 4]) % ALIASING_STRIDE == 0;
        let strip = product([tiles[0].input(), extent(&self.results[3]), into, 4]);
        let times = match is_aliasing(into) || is_aliasing(from) {
            true => 3,
            false if strip > L2_BYTES => 2,
            false => 1,
        };
        let transformed = product([taps, tile_count, into.saturating_add(from), ELEMENT_COST, times]);
        let read = product([taps - product(self.kernel[2..].iter().map(extent)), weights, WEIGHT_COST]);
        Some(product([taps, weights, tile_count]).saturating_add(transformed).saturating_add(read.max(0)))
    }

    /// Tiles of Winograd's algorithm along the spatial axes; `None` if it does not apply.
    pub fn winograd_tiles(&self) -> Option<[WinogradTiles; 2]> {
        if self.rank() != 2 || self.strides.iter().any(|stride| *stride != 1) {
            return None;
        }
        let axis = |axis: usize| WinogradTiles::of(self.taps(axis)?, self.dilation[axis]);
        let tiles = [axis(0)?, axis(1)?];
        let is_float = self.has_floats() && matches!(self.operand_dtype.bits, 16 | 32);
        (is_float && tiles.iter().any(|tiles| tiles.window > 1)).then_some(tiles)
    }
}

/// Returns the number of results for which an element of the kernel is inside the data.
fn area(tap: &Tap) -> i64 {
    product(tap.iter().map(|(_, results)| results.end - results.start))
}

/// Returns the result's dtype.
fn result_dtype(call: &Call, operands: DType) -> Option<DType> {
    match call.attrs.get("out_dtype")? {
        AttrValue::DType(own) if *own != DType::VOID => Some(*own),
        AttrValue::DType(_) => Some(operands),
        other => other.is_none().then_some(operands),
    }
}

fn ints(call: &Call, name: &str) -> Option<Vec<i64>> {
    call.attrs.get(name)?.as_list()?.iter().map(AttrValue::as_int).collect()
}

/// Returns the axes of `permute_dims` between layouts; `None` if they are the same.
pub fn permutation(from: &Layout, to: &Layout) -> Option<Vec<i64>> {
    to.permutation_from(from).filter(|_| from != to)
}

/// Returns the layout that a text is known to be.
pub fn layout(text: &str) -> Layout {
    Layout::parse(text).unwrap_or_else(|| unreachable!("{text} is a layout"))
}

/// Returns the type of an operand that is a tensor.
pub fn tensor(module: &Module, function: &Function, operand: &Operand) -> Option<TensorType> {
    function.operand_ty(module, operand).as_tensor().cloned()
}

/// Returns a size; a batch of unknown size is assumed to be 1.
fn extent(dim: &PrimExpr) -> i64 {
    dim.as_int().unwrap_or(1)
}

fn product(sizes: impl IntoIterator<Item = i64>) -> i64 {
    sizes.into_iter().fold(1, i64::saturating_mul)
}
