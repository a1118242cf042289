//! ONNX models of a given size, encoded as protobuf.

/// Encodes a length-delimited field: a string or a message.
fn field(number: usize, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let mut field = Vec::new();
    varint(number << 3 | 2, &mut field);
    varint(bytes.len(), &mut field);
    field.extend(bytes);
    field
}

/// Encodes a varint field.
fn number(number: usize, value: usize) -> Vec<u8> {
    let mut field = Vec::new();
    varint(number << 3, &mut field);
    varint(value, &mut field);
    field
}

fn varint(mut value: usize, bytes: &mut Vec<u8>) {
    while value > 127 {
        bytes.push(value as u8 | 128);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// `OperatorSetIdProto`.
fn opset(domain: &str, version: usize) -> Vec<u8> {
    [field(1, domain), number(2, version)].concat()
}

/// `NodeProto` with one input and output.
fn node(op: &str, domain: &str, input: &str, output: &str) -> Vec<u8> {
    [field(1, input), field(2, output), field(4, op), field(7, domain)].concat()
}

/// `ValueInfoProto` of a float32 tensor.
fn tensor(name: &str, shape: &[usize]) -> Vec<u8> {
    let dims: Vec<u8> = shape.iter().flat_map(|size| field(1, number(1, *size))).collect();
    let ty = [number(1, 1), field(2, dims)].concat();
    [field(1, name), field(2, field(1, ty))].concat()
}

/// `ModelProto` of a graph and functions of the domain `local`.
fn model(graph: &[u8], functions: &[Vec<u8>]) -> Vec<u8> {
    let opsets = [field(8, opset("", 17)), field(8, opset("local", 1))].concat();
    let functions: Vec<u8> = functions.iter().flat_map(|function| field(25, function)).collect();
    [number(1, 8), opsets, field(7, graph), functions].concat()
}

/// Functions, each calling the previous one.
pub fn chained_functions(count: usize) -> Vec<u8> {
    let function = |i: usize| {
        let node = match i {
            0 => node("Relu", "", "x", "y"),
            _ => node(&format!("f{}", i - 1), "local", "x", "y"),
        };
        let opsets = [field(9, opset("", 17)), field(9, opset("local", 1))].concat();
        [field(1, format!("f{i}")), field(4, "x"), field(5, "y"), field(7, node), opsets, field(10, "local")].concat()
    };
    let functions: Vec<Vec<u8>> = (0..count).map(function).collect();
    let call = node(&format!("f{}", count - 1), "local", "x", "y");
    let graph = [field(1, call), field(2, "g"), field(11, tensor("x", &[4])), field(12, tensor("y", &[4]))].concat();
    model(&graph, &functions)
}
