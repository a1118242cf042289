//! Non-maximum suppression. The number of remaining boxes is only known at run time.
mod suppression;

use super::memory::on_device_of;
use super::order::scratch;
use crate::ffi::Error;
use crate::parallel;
use crate::sync::Mutex;
use crate::value::{Any, DType, Device, Number, Tensor, Tuple};
use crate::vm::{Builtin, builtin::builtin};
use std::sync::PoisonError;
use suppression::{Corners, Rules, select};

pub(super) const TABLE: &[Builtin] = &[builtin!("vm.builtin.all_class_non_max_suppression",
    all_class_non_max_suppression(
        boxes: &Tensor, scores: &Tensor, max_output_boxes_per_class: &Tensor, iou_threshold: &Tensor,
        score_threshold: &Tensor, format: &str
    ) -> "Tuple",
    "Runs non-maximum suppression within each class; lists the surviving boxes in ONNX's or TensorFlow's format.")];

/// A selected box: its class, index and score.
struct Selected {
    class: usize,
    index: usize,
    score: f32,
}

fn all_class_non_max_suppression(
    boxes: &Tensor,
    scores: &Tensor,
    max_boxes: &Tensor,
    iou_threshold: &Tensor,
    score_threshold: &Tensor,
    format: &str,
) -> Result<Any, Error> {
    let (&[batch, count, 4], &[batches, classes, columns]) = (boxes.shape(), scores.shape()) else {
        return Err(misfit(boxes, scores));
    };
    if batch != batches || count != columns {
        return Err(misfit(boxes, scores));
    }
    let operand = boxes;
    let rules = Rules {
        max_boxes: scalar(max_boxes)?.clamp(0.0, count as f64) as usize,
        overlap: scalar(iou_threshold)? as f32,
        score: scalar(score_threshold)? as f32,
    };
    // Accounts for boxes and scores as float32, and for the selected boxes with their order and results; a list per
    // image.
    let _scratch = (scratch(boxes.element_count(), 10)?, scratch(scores.element_count(), 100)?);
    let _lists = scratch(batch as usize, 64)?;
    let (boxes, scores) = (floats(boxes)?, floats(scores)?);
    let (count, classes) = (count as usize, if count == 0 { 0 } else { classes as usize });
    let corners: Vec<Corners> = boxes.as_chunks().0.iter().map(Corners::new).collect();
    let kept = select_in_each_class(&corners, &scores, [batch as usize, classes, count], &rules);
    let image = |n: usize| -> Vec<Selected> {
        let of_class = |class: usize| {
            let row = n * classes + class;
            let selected = |index: &usize| Selected { class, index: *index, score: scores[row * count + index] };
            kept[row].iter().map(selected).collect::<Vec<_>>()
        };
        (0..classes).flat_map(of_class).collect()
    };
    let images: Vec<Vec<Selected>> = (0..batch as usize).map(image).collect();
    let made = if format == "onnx" { listed(&images)? } else { padded(&images, classes * count)? };
    let fields = made.into_iter().map(|field| on_device_of(operand, field).map(Any::from));
    Ok(Tuple::new(fields.collect::<Result<Vec<_>, _>>()?.into_iter()).into())
}

/// Runs the suppression for each class of each image, in parallel.
fn select_in_each_class(
    boxes: &[Corners],
    scores: &[f32],
    [batch, classes, count]: [usize; 3],
    rules: &Rules,
) -> Vec<Vec<usize>> {
    let rows: Vec<Mutex<Vec<usize>>> = (0..batch * classes).map(|_| Mutex::new(Vec::new())).collect();
    parallel::for_each(rows.len() as i64, 1, |range| {
        for row in range.start as usize..range.end as usize {
            let image = row / classes * count;
            let kept = select(&boxes[image..image + count], &scores[row * count..(row + 1) * count], rules);
            *rows[row].lock().unwrap_or_else(PoisonError::into_inner) = kept;
        }
    });
    rows.into_iter().map(|row| row.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn misfit(boxes: &Tensor, scores: &Tensor) -> Error {
    let (boxes, scores) = (boxes.shape(), scores.shape());
    Error::value(format!(
        "boxes must be (batch, boxes, 4) and scores (batch, classes, boxes), not {boxes:?} and {scores:?}"
    ))
}

/// Rows of image, class and box, and their number.
fn listed(images: &[Vec<Selected>]) -> Result<Vec<Tensor>, Error> {
    let row = |(n, image): (usize, &Vec<Selected>)| -> Vec<i64> {
        image.iter().flat_map(|s| [n as i64, s.class as i64, s.index as i64]).collect()
    };
    let rows: Vec<i64> = images.iter().enumerate().flat_map(row).collect();
    let count = rows.len() as i64 / 3;
    let indices = Tensor::from_slice(&[count, 3], &rows)?;
    Ok(vec![indices, Tensor::from_slice(&[1], &[count])?])
}

/// For each image, rows of class and box, scores, and their number; padded with zeros to `room` rows.
fn padded(images: &[Vec<Selected>], room: usize) -> Result<Vec<Tensor>, Error> {
    let (mut indices, mut scores) = (Vec::new(), Vec::new());
    for image in images {
        indices.extend(image.iter().flat_map(|s| [s.class as i64, s.index as i64]));
        scores.extend(image.iter().map(|s| s.score));
        indices.resize(scores.len() * 2 + (room - image.len()) * 2, 0);
        scores.resize(scores.len() + room - image.len(), 0.0);
    }
    let counts: Vec<i64> = images.iter().map(|image| image.len() as i64).collect();
    let (batch, room) = (images.len() as i64, room as i64);
    let indices = Tensor::from_slice(&[batch, room, 2], &indices)?;
    let scores = Tensor::from_slice(&[batch, room], &scores)?;
    Ok(vec![indices, scores, Tensor::from_slice(&[batch], &counts)?])
}

/// The elements of a tensor of floats.
fn floats(value: &Tensor) -> Result<Vec<f32>, Error> {
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    match host.dtype() {
        DType::FLOAT32 => Ok(host.as_slice::<f32>()?.to_vec()),
        dtype @ (DType::FLOAT64 | DType::FLOAT16) => {
            let number = |bytes| Number::read(dtype, bytes).map_or(f32::NAN, |number| number.to_f64() as f32);
            Ok(host.as_bytes()?.chunks_exact(dtype.bytes()).map(number).collect())
        }
        other => Err(Error::type_error(format!("boxes and scores must be floats, not {other}"))),
    }
}

/// The only element of a tensor.
fn scalar(value: &Tensor) -> Result<f64, Error> {
    let host = value.to_device(Device::CPU)?.to_contiguous()?;
    let number = Number::read(host.dtype(), host.as_bytes()?).filter(|_| host.element_count() == 1);
    number.map(Number::to_f64).ok_or_else(|| Error::value("a limit must be one number"))
}
