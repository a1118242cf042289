//! Networks as text modules, with weights.

use std::fmt::Write;

/// Module with one function, under construction.
#[derive(Default)]
pub struct Network {
    params: Vec<String>,
    lines: String,
    values: usize,
    weights: Vec<Vec<i64>>,
}

impl Network {
    fn input(&mut self, name: &str, shape: &str, dtype: &str) -> String {
        self.params.push(format!("{name}: R.Tensor({shape}, \"{dtype}\")"));
        name.to_owned()
    }

    /// Binds a value and returns its variable.
    fn value(&mut self, call: &str) -> String {
        self.values += 1;
        let var = format!("lv{}", self.values);
        writeln!(self.lines, "            {var} = {call}").unwrap();
        var
    }

    fn weight(&mut self, shape: &[i64]) -> String {
        self.weights.push(shape.to_vec());
        let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
        self.input(&format!("w{}", self.weights.len()), &format!("({},)", sizes.join(", ")), "float32")
    }

    /// Returns the module, whose result is the last value.
    pub fn text(&self) -> String {
        let Network { params, lines, values, .. } = self;
        let params = params.join(", ");
        format!(
            "@I.ir_module\nclass Module:\n    @R.function\n    def main({params}):\n        with R.dataflow():\n{lines}            \
             R.output(lv{values})\n        return lv{values}\n"
        )
    }

    /// Returns the weights as a safetensors file. Each tensor has one value, different from others, so no two are
    /// merged as common subexpressions.
    pub fn weights(&self) -> Vec<u8> {
        let (mut head, mut data) = (Vec::new(), Vec::new());
        for (number, shape) in self.weights.iter().enumerate() {
            let start = data.len();
            let count = shape.iter().product::<i64>() as usize;
            data.extend(((number + 1) as f32).to_le_bytes().repeat(count));
            let offsets = format!("\"data_offsets\":[{start},{}]", data.len());
            head.push(format!("\"w{}\":{{\"dtype\":\"F32\",\"shape\":{shape:?},{offsets}}}", number + 1));
        }
        let head = format!("{{{}}}", head.join(","));
        [&(head.len() as u64).to_le_bytes()[..], head.as_bytes(), &data].concat()
    }

    fn linear(&mut self, x: &str, from: i64, to: i64) -> String {
        let (weight, bias) = (self.weight(&[to, from]), self.weight(&[to]));
        let turned = self.value(&format!("R.permute_dims({weight})"));
        let matmul = self.value(&format!("R.matmul({x}, {turned})"));
        self.value(&format!("R.add({matmul}, {bias})"))
    }

    fn convolution(&mut self, x: &str, channels: [i64; 2], taps: i64, stride: i64) -> String {
        let [from, to] = channels;
        let weight = self.weight(&[to, from, taps, taps]);
        let pad = taps / 2;
        let y = self.value(&format!(
            "R.nn.conv2d({x}, {weight}, strides=({stride}, {stride}), padding=({pad}, {pad}, {pad}, {pad}))"
        ));
        let [scale, shift, mean, variance] = std::array::from_fn(|_| self.weight(&[to]));
        let normal =
            self.value(&format!("R.nn.batch_norm({y}, {scale}, {shift}, {mean}, {variance}, axis=1, training=False)"));
        self.value(&format!("{normal}[0]"))
    }

    fn relu(&mut self, x: &str) -> String {
        self.value(&format!("R.nn.relu({x})"))
    }

    fn layer_norm(&mut self, x: &str, size: i64) -> String {
        let (scale, shift) = (self.weight(&[size]), self.weight(&[size]));
        self.value(&format!("R.nn.layer_norm({x}, {scale}, {shift}, axes=[-1])"))
    }
}

/// ResNet-18 for one image of 224 x 224.
pub fn resnet18() -> Network {
    let mut net = Network::default();
    let image = net.input("image", "(1, 3, 224, 224)", "float32");
    let x = net.convolution(&image, [3, 64], 7, 2);
    let x = net.relu(&x);
    let mut x = net.value(&format!("R.nn.max_pool2d({x}, pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 1, 1))"));
    let mut from = 64;
    for (to, block) in [(64, 1), (64, 2), (128, 1), (128, 2), (256, 1), (256, 2), (512, 1), (512, 2)] {
        let stride = if from == to { 1 } else { 2 };
        let y = net.convolution(&x, [from, to], 3, stride);
        let y = net.relu(&y);
        let y = net.convolution(&y, [to, to], 3, 1);
        if block == 1 && from != to {
            x = net.convolution(&x, [from, to], 1, stride);
        }
        let y = net.value(&format!("R.add({y}, {x})"));
        x = net.relu(&y);
        from = to;
    }
    let x = net.value(&format!("R.mean({x}, axis=[2, 3])"));
    net.linear(&x, 512, 1000);
    net
}

/// MiniLM, six layers, for 128 tokens.
pub fn minilm() -> Network {
    const WORDS: i64 = 128;
    const SIZE: i64 = 384;
    let mut net = Network::default();
    let ids = net.input("ids", "(1, 128)", "int64");
    let mask = net.input("mask", "(1, 128)", "float32");
    // The number of rows that are read does not depend on the size of the table.
    let (words, positions) = (net.weight(&[1000, SIZE]), net.weight(&[WORDS, SIZE]));
    let flat = net.value(&format!("R.reshape({ids}, R.shape([{WORDS}]))"));
    let x = net.value(&format!("R.take({words}, {flat}, axis=0)"));
    let x = net.value(&format!("R.add({x}, {positions})"));
    let mut x = net.layer_norm(&x, SIZE);
    let mask = net.value(&format!("R.reshape({mask}, R.shape([1, 1, 1, {WORDS}]))"));
    let mask = net
        .value(&format!("R.multiply(R.subtract(R.const(1.0, \"float32\"), {mask}), R.const(-10000.0, \"float32\"))"));
    for _ in 0..6 {
        let [q, k, v] = std::array::from_fn(|_| {
            let y = net.linear(&x, SIZE, SIZE);
            net.value(&format!("R.reshape({y}, R.shape([1, {WORDS}, 12, 32]))"))
        });
        let y = net.value(&format!("R.nn.attention_bias({q}, {k}, {v}, {mask})"));
        let y = net.value(&format!("R.reshape({y}, R.shape([{WORDS}, {SIZE}]))"));
        let y = net.linear(&y, SIZE, SIZE);
        let y = net.value(&format!("R.add({x}, {y})"));
        let y = net.layer_norm(&y, SIZE);
        let up = net.linear(&y, SIZE, 4 * SIZE);
        let up = net.value(&format!("R.nn.gelu({up})"));
        let down = net.linear(&up, 4 * SIZE, SIZE);
        let sum = net.value(&format!("R.add({y}, {down})"));
        x = net.layer_norm(&sum, SIZE);
    }
    net
}
