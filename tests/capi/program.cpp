// Loads and runs a model through the C++ header, and exercises all kinds of misuse. Prints "ok" at the end.
#include "hammock.hpp"

#include <atomic>
#include <fstream>
#include <iostream>
#include <iterator>
#include <thread>

using hammock::Value;
using namespace std::chrono_literals;

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) throw std::runtime_error("line " + std::to_string(__LINE__) + ": " + #condition); \
    } while (0)

/// Runs a function that must fail with an error of this kind and part of a message.
#define FAILS(kind, part, expression) CHECK(fails([&] { (void)(expression); }, kind, part))

template <typename Body> bool fails(Body body, const std::string &kind, const std::string &part) {
    try {
        body();
    } catch (const hammock::Error &error) {
        bool as_expected = error.kind() == kind && error.message().find(part) != std::string::npos;
        if (!as_expected) std::cerr << error.what() << "\n";
        return as_expected;
    }
    return false;
}

static bool contains(const std::string &text, const char *part) { return text.find(part) != std::string::npos; }

using Floats = std::vector<float>;

/// State shared by all parts.
struct Model {
    hammock::Library library;
    hammock::Vm vm{library};
    Value x = Value::tensor<float>({2, 3}, {0, 1, 2, 3, 4, 5});
    Value y = Value::tensor<float>({2, 3}, {1, 1, 1, 1, 1, 1});
};

static void hold_values() {
    Value pair = Value::tuple({7, "a text that is long", 2.5, true, std::string("short")});
    CHECK(pair[0].integer() == 7 && pair[1].string() == "a text that is long" && pair[2].number() == 2.5);
    CHECK(pair[3].kind() == HAMMOCK_BOOL && pair[4].string() == "short" && pair.fields().size() == 5);
    CHECK(Value(size_t{3}).integer() == 3 && Value(1.5f).number() == 1.5 && Value('a').kind() == HAMMOCK_INT);
    Value copy = pair;
    pair = Value::shape({4, 5});
    CHECK(copy.size() == 5 && pair.sizes()[1] == 5 && pair.show() == "shape[4, 5]\n");
    FAILS("IndexError", "none is number 5", copy[5]);
    FAILS("TypeError", "not a tuple", pair[0]);
    FAILS("TypeError", "not an integer", copy[1].integer());
    FAILS("ValueError", "not UTF-8", Value("\xff"));

    Value list = Value::adt(1, {5, Value::adt(0, {})});
    CHECK(list.kind() == HAMMOCK_ADT && list.tag() == 1 && list[0].integer() == 5 && list[1].tag() == 0);
    CHECK(list.size() == 2 && list[1].size() == 0);
    CHECK(Value(hammock::dtype("bfloat16")).dtype().code == HAMMOCK_CODE_BFLOAT);
    CHECK(Value(hammock_device{HAMMOCK_DEVICE_CPU, 1}).device().id == 1);
    FAILS("ValueError", "is not a data type", hammock::dtype(std::string("float33x")));
}

static void hold_tensors() {
    Value counts = Value::tensor<int16_t>({3}, {1, -2, 3});
    CHECK(counts.dtype().bits == 16 && counts.device().kind == HAMMOCK_DEVICE_CPU && counts.sizes()[0] == 3);
    CHECK(counts.elements<int16_t>()[1] == -2 && Value::zeros<uint64_t>({2, 2}).elements<uint64_t>().size() == 4);
    CHECK(hammock::dtype_of<bool>().code == HAMMOCK_CODE_BOOL);
    uint16_t halves[] = {0x3c00, 0x4000};
    Value half = Value::tensor(hammock_float16(), {2}, halves, sizeof halves);
    CHECK(half.view().dtype.bits == 16 && contains(half.show(), "float16[2]"));
    FAILS("TypeError", "another type", half.data<float>());
    FAILS("ValueError", "not 4", Value::tensor(hammock_float32(), {2}, halves, sizeof halves));
    FAILS("TypeError", "not a tensor", Value(1).view());

    auto memory = std::make_shared<Floats>(Floats{0, 1, 2, 3, 4, 5});
    int64_t shape[] = {3, 2}, strides[] = {1, 3};
    hammock_tensor columns{memory->data(), {HAMMOCK_DEVICE_CPU, 0}, 2, hammock_float32(), shape, strides, 0};
    Value lent = Value::borrow(columns, memory);
    CHECK((lent.elements<float>() == Floats{0, 3, 1, 4, 2, 5}) && memory.use_count() == 2);
    {
        Value::Dlpack managed = lent.to_dlpack();
        Value::DlpackVersioned versioned = lent.to_dlpack_versioned();
        lent = Value();
        CHECK(memory.use_count() == 2);
        Value back = Value::from_dlpack(managed.release());
        CHECK(back.view().data == memory->data() && back.elements<float>()[1] == 3);
        CHECK(Value::from_dlpack(versioned.release()).sizes()[0] == 3);
        Value::Dlpack unused = back.to_dlpack();
    }
    CHECK(memory.use_count() == 1);
    FAILS("TypeError", "not a tensor", Value("text").to_dlpack());
}

static void hold_functions() {
    Value add = Value::function([](const Value *args, size_t count) {
        if (count != 2) throw std::invalid_argument("add takes two numbers");
        return Value(args[0].integer() + args[1].integer());
    });
    CHECK(add(1, 2).integer() == 3 && add.call({3, 4}).integer() == 7);
    FAILS("ValueError", "two numbers", add());
    FAILS("TypeError", "not an integer", add(1, "2"));
    auto thrower = [](auto exception) {
        return Value::function([=](const Value *, size_t) -> Value { throw exception; });
    };
    FAILS("MyError", "mine", thrower(hammock::Error("MyError", "mine"))());
    FAILS("MemoryError", "", thrower(std::bad_alloc())());
    FAILS("IndexError", "far", thrower(std::out_of_range("far"))());
    FAILS("RuntimeError", "hm", thrower(std::runtime_error("hm"))());
    FAILS("RuntimeError", "not an exception", thrower(5)());
    FAILS("TypeError", "not a function", Value(1)());

    hammock::register_function("capi.add", add);
    CHECK(hammock::registered_function("capi.add")(5, 6).integer() == 11);
    hammock::unregister_function("capi.add");
    FAILS("ValueError", "capi.add", hammock::registered_function("capi.add"));
    FAILS("ValueError", "capi.add", hammock::unregister_function("capi.add"));
}

static void reflect_on_values() {
    Value list = Value::adt(1, {5, Value::tensor<float>({2}, {1, 2})});
    CHECK((list.field_names() == std::vector<std::string>{"tag", "fields"}) && list.field("tag").integer() == 1);
    CHECK(Value(3).field_names().empty());
    FAILS("AttributeError", "no field `tail`", list.field("tail"));
    Value same = Value::from_json(list.json());
    CHECK(same == list && same.hash() == list.hash() && same != Value(1) && Value(1.0) != Value(1));
    FAILS("ValueError", "is not a graph", Value::from_json("{}"));
    Value nothing = Value::function([](const Value *, size_t) { return Value(); });
    FAILS("TypeError", "cannot be saved", nothing.json());
    CHECK(nothing == Value(nothing) && nothing != Value::function([](const Value *, size_t) { return Value(); }));
    FAILS("TypeError", "not bytes", list.bytes());

    std::vector<std::string> names = hammock::registered_names();
    CHECK(std::find(names.begin(), names.end(), "vm.builtin.make_tuple") != names.end());
    CHECK(hammock::registered_function("vm.builtin.make_tuple")(1, "x")[1].string() == "x");
}

static void use_modules(const char *path) {
    hammock::Library library = hammock::Library::open(path);
    hammock::Module module = library.module();
    CHECK(module.kind() == "relax.VMExecutable" && module.is_serializable() && !module.is_runnable());
    CHECK(module.imports().size() == 1 && module.imports()[0].kind() == "library" && !module.find("nobody"));
    CHECK(contains((*module.find("as_text"))().string(), "main"));
    hammock::Module again = hammock::Module::load(module.save());
    hammock::Module machine((*again.find("vm_load_executable"))());
    Value x = Value::tensor<float>({2, 3}, {0, 1, 2, 3, 4, 5});
    CHECK((*machine.find("main"))(x, x)[0].data<float>()[5] == 10 && machine.functions().size() == 4);
    CHECK(hammock::Vm(library).module().functions() == machine.functions());
    FAILS("TypeError", "cannot be saved", machine.save());
    FAILS("TypeError", "not a module", hammock::Module(Value(3)));
    FAILS("ValueError", "", hammock::Module::load("no module"));

    Value five = Value::function([](const Value *, size_t) { return Value(5); });
    hammock::Module own("capi.own", {{"five", five}, {"also", five}});
    CHECK(own.kind() == "capi.own" && own.is_runnable() && !own.is_serializable() && own.imports().empty());
    CHECK((*own.find("five"))().integer() == 5 && (own.functions() == std::vector<std::string>{"also", "five"}));
    FAILS("TypeError", "not a function", hammock::Module("capi.own", {{"three", Value(3)}}));
}

static void load(const char *path) {
    std::ifstream file(path, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(file)), {});
    CHECK(hammock::Vm(hammock::Library::load(bytes.data(), bytes.size())).functions().size() == 4);
    bytes[bytes.size() / 2] ^= 1;
    CHECK(fails([&] { hammock::Library::load(bytes.data(), bytes.size()); }, "ValueError", ""));
    FAILS("ValueError", "missing.so", hammock::Library::open(std::string("missing.so")));
}

static void call(const Model &model) {
    auto &[_, vm, x, y] = model;
    CHECK(vm.functions().size() == 4 && vm.parameters("main")[1] == "y");
    FAILS("ValueError", "no function `nobody`", vm.parameters("nobody"));
    FAILS("ValueError", "no function `nobody`", vm.signature("nobody"));
    std::vector<hammock::Parameter> signature = vm.signature("main");
    CHECK(signature.size() == 4 && signature[0].name == "x" && signature[0].type == "float32[2, 3]");
    CHECK(signature[0].dtype->bits == 32 && (*signature[0].sizes)[1].integer() == 3);
    CHECK(signature[2].role == "output" && signature[2].name == "sum" && !signature[3].sizes);

    Value result = vm.call("main", x, y);
    CHECK(result.size() == 2 && result[0].data<float>()[5] == 6 && result[1][0].data<float>()[5] == 5);
    CHECK((result[0].sizes() == std::vector<int64_t>{2, 3}));
    std::vector<Value> args{x, x};
    CHECK(vm.call("main", args)[0].data<float>()[4] == 8 && vm.call("main", {x, y})[0].data<float>()[4] == 5);
    CHECK(vm.call("ask", x).data<float>()[1] == 3 && vm.function("ask")(y).to_host().data<float>()[0] == 3);
    CHECK(vm.invoke(vm.function("main"), {x, y})[0].data<float>()[5] == 6);
    FAILS("TypeError", "takes 2 arguments (x, y), not 1", vm.call("main", x));
    FAILS("ValueError", "no function `nobody`", vm.call("nobody"));
    FAILS("ValueError", "no function `nobody`", vm.function("nobody"));
    FAILS("TypeError", "", vm.invoke(x, {}));

    try {
        vm.call("main", x, 1);
        CHECK(false);
    } catch (const hammock::Error &error) {
        CHECK(error.trace().size() == 1 && error.trace()[0].function == "main" && error.trace()[0].line == 9);
        CHECK(contains(error.trace()[0].file, "model.py") && contains(error.what(), "in main"));
    }
    // The call stack includes C++ functions.
    Value inner = Value::function([&](const Value *, size_t) { return vm.call("main", x, 1); });
    try {
        inner();
        CHECK(false);
    } catch (const hammock::Error &error) {
        CHECK(error.trace().size() == 1 && error.trace()[0].function == "main");
    }
}

static void call_into_tensors(const Model &model) {
    auto &[_, vm, x, y] = model;
    std::vector<Value> outputs{Value::zeros<float>({2, 3}), Value::zeros<float>({2, 3})};
    const float *sum = outputs[0].data<float>();
    vm.call_into("main", {x, y}, outputs);
    CHECK(sum[5] == 6 && outputs[1].data<float>()[5] == 5);
    FAILS("TypeError", "more tensors", vm.call_into("main", {x, y}, {outputs[0]}));
    FAILS("TypeError", "not 3", vm.call_into("main", {x, y}, {outputs[0], outputs[1], outputs[1]}));
    FAILS("TypeError", "must be a tensor", vm.call_into("main", {x, y}, {outputs[0], 1}));
    FAILS("TypeError", "cannot be written", vm.call_into("main", {x, y}, {outputs[0], Value::zeros<float>({3, 2})}));
    FAILS("ValueError", "no function", vm.call_into("nobody", {x, y}, outputs));
}

static void call_in_steps(const Model &model) {
    auto &[_, vm, x, y] = model;
    auto memory = std::make_shared<Floats>(6, 1.0f);
    FAILS("ValueError", "was not set", vm.invoke_stateful("main"));
    vm.set_inputs("main", {y, y});
    vm.set_input("main", "x", x);
    vm.set_input("main", "y", Value::borrow({2, 3}, memory->data(), memory));
    vm.invoke_stateful("main");
    CHECK(vm.output("main", {1, 0}).data<float>()[4] == 4);
    CHECK(vm.output_arity("main") == size_t{2} && !vm.output_arity("main", {1, 0}));
    FAILS("IndexError", "1.5", vm.output("main", {1, 5}));
    FAILS("ValueError", "was not invoked", vm.output_arity("ask"));
    FAILS("ValueError", "no parameter `z`", vm.set_input("main", "z", x));
    FAILS("TypeError", "takes 2 inputs", vm.set_inputs("main", {x}));
    CHECK(memory.use_count() == 2);
    vm.set_input("main", "y", x);
    CHECK(memory.use_count() == 1);
}

static void save_and_time(const Model &model) {
    auto &[_, vm, x, y] = model;
    vm.save_function("main", "bound", {x, y});
    vm.save_function("main", "silent", {x, y}, false);
    CHECK(vm.call("bound")[0].data<float>()[5] == 6 && vm.call("silent").is_none());
    CHECK(vm.function("bound")()[0].data<float>()[5] == 6);
    FAILS("TypeError", "takes no arguments, not 1", vm.call("bound", x));
    FAILS("TypeError", "takes 2 arguments, not 1", vm.save_function("main", "half", {x}));
    FAILS("ValueError", "no function `nobody`", vm.save_function("nobody", "saved", {}));
    FAILS("ValueError", "itself has a function `ask`", vm.save_function("main", "ask", {x, y}));

    hammock::Evaluation how;
    how.number = 2;
    how.repeat = 3;
    how.min_repeat = 1ms;
    hammock::Timings timings = vm.time("bound", {}, how);
    CHECK(timings.seconds.size() == 3 && timings.min > 0 && timings.min <= timings.median);
    CHECK(timings.median <= timings.max && timings.mean <= timings.max && timings.std >= 0);
    CHECK(*std::max_element(timings.seconds.begin(), timings.seconds.end()) == timings.max);
    CHECK(vm.time("main", {x, y}).seconds.size() == 1);
    FAILS("TypeError", "takes 2 arguments", vm.time("main", {x}));
    FAILS("ValueError", "no function", vm.time("nobody", {}));
}

static void stop(const Model &model) {
    auto &[library, vm, x, y] = model;
    hammock::Interrupt interrupt;
    CHECK(vm.call_with({&interrupt, 60s}, "main", x, y).size() == 2 && !interrupt.is_cancelled());
    FAILS("TimeoutError", "exceeded its time limit", vm.call_with({nullptr, 5ms}, "forever", x));
    FAILS("TimeoutError", "exceeded its time limit", vm.call_with({&interrupt, 0ms}, "forever", {x}));
    std::thread other([&] {
        std::this_thread::sleep_for(5ms);
        interrupt.cancel();
    });
    bool cancelled = fails([&] { vm.call_with({&interrupt, {}}, "forever", x); }, "CancelledError", "cancelled");
    other.join();
    CHECK(cancelled && interrupt.is_cancelled());
    FAILS("CancelledError", "cancelled", vm.call_with({&interrupt, 60s}, "main", {x, y}));

    hammock::Options options;
    options.timeout = 5ms;
    FAILS("TimeoutError", "exceeded its time limit", hammock::Vm(library, options).call("forever", x));
}

static void limit(const Model &model) {
    auto &[library, _, x, y] = model;
    hammock::Options options;
    options.memory_limit = 16;
    options.pooled = false;
    options.check_kernels = false;
    options.max_depth = 100;
    options.max_stack = 1 << 20;
    options.devices = {{HAMMOCK_DEVICE_CPU, 0}};
    FAILS("MemoryError", "limit of 16", hammock::Vm(library, options));
    try {
        hammock::Vm none(library, options);
    } catch (const hammock::Error &error) {
        // A limit that admits the model itself ("the model: 1234 bytes would exceed…"), but not its results.
        options.memory_limit = std::stoull(error.message().substr(error.message().find(':') + 1)) + 16;
    }
    hammock::Vm vm(library, options);
    FAILS("MemoryError", "would exceed the limit", vm.call("main", x, y));
    CHECK(vm.memory().used == 0 && vm.memory(0).pooled == 0 && vm.devices().size() == 1);
    FAILS("IndexError", "none is number 9", vm.memory(9));

    options = hammock::Options();
    options.devices = {{HAMMOCK_DEVICE_CPU, 1}, {HAMMOCK_DEVICE_CPU, 0}};
    hammock::Vm two(library, options);
    CHECK(two.devices().size() == 2 && two.devices()[0].id == 1 && two.memory(1).used == 0);
    CHECK(two.call("main", x, y)[0].device().id == 1);
    CHECK(model.vm.memory().peak > 0 && model.vm.memory().pooled > 0);
    model.vm.trim();
    CHECK(model.vm.memory().pooled == 0);
    options.devices = {{HAMMOCK_DEVICE_CUDA, 7}};
    FAILS("ValueError", "cuda:7", hammock::Vm(library, options));
}

/// Records calls; skips, or fails at, callees with a given name.
struct Diary : hammock::Instrument {
    std::string skipped, refused, entered, place;
    std::vector<std::string> kernels, failures;
    size_t arguments = 0;
    int results = 0, begun = 0;

    std::optional<Value> before(const hammock::Call &call) override {
        if (call.kind() == hammock::CalleeKind::kernel) {
            kernels.emplace_back(call.callee());
            place = std::string(call.function()) + " " + std::string(call.file()) + ":" + std::to_string(call.line());
            arguments = call.size();
            CHECK(call.value().kind() == HAMMOCK_FUNCTION);
            CHECK(call.args()[0].sizes()[1] == 3 && call.instruction() < 100);
        }
        if (call.callee() == refused) throw std::invalid_argument("not this one");
        if (call.callee() == skipped) return Value::tensor<float>({2, 3}, Floats(6, 9.0f));
        return std::nullopt;
    }
    void after(const hammock::Call &call, const Value &result) override {
        results += call.kind() == hammock::CalleeKind::registered && result.kind() == HAMMOCK_TENSOR;
        if (std::string(call.callee()) + " done" == refused) throw hammock::Error("LateError", "after all");
    }
    void failed(const hammock::Call &call, const hammock::Error &error) override {
        failures.push_back(std::string(call.callee()) + " " + error.kind() + " " + error.message());
    }
    void enter(std::string_view function) noexcept override { entered += function, begun++; }
    void leave(std::string_view) noexcept override { begun--; }
};

static void watch(const Model &model) {
    auto &[_, vm, x, y] = model;
    auto diary = std::make_shared<Diary>();
    vm.set_instrument(diary);
    vm.call("main", x, y);
    CHECK(diary->kernels.size() == 2 && diary->place == "main tests/capi/model.py:12" && diary->arguments >= 3);
    CHECK(diary->entered == "main" && diary->begun == 0 && diary->results == 0);
    CHECK(vm.call("ask", x).data<float>()[1] == 3 && diary->results == 1);
    diary->skipped = "capi.twice";
    CHECK(vm.call("ask", x).data<float>()[1] == 10);
    diary->refused = "capi.twice";
    FAILS("ValueError", "not this one", vm.call("ask", x));
    diary->skipped = "";
    diary->refused = "capi.twice done";
    FAILS("LateError", "after all", vm.call("ask", x));
    CHECK(diary->begun == 0 && diary->failures.empty());
    diary->refused = "";
    FAILS("ValueError", "negative", vm.call("ask", Value::tensor<float>({2, 3}, Floats(6, -1.0f))));
    CHECK(diary->failures.size() == 1 && diary->failures[0] == "capi.twice ValueError nothing negative, please");
    FAILS("TimeoutError", "exceeded its time limit", vm.call_with({nullptr, 5ms}, "forever", x));
    CHECK(diary->begun == 0);
    CHECK(diary.use_count() == 2);
    vm.clear_instrument();
    CHECK(diary.use_count() == 1);

    std::atomic<int> seen{0};
    vm.set_instrument(Value::function([&](const Value *args, size_t) -> Value {
        if (args[1].string() == "capi.twice" && args[2].integer() == 1) {
            seen++;
            throw std::out_of_range("seen enough");
        }
        return 0;
    }));
    FAILS("IndexError", "seen enough", vm.call("ask", x));
    CHECK(seen == 1 && fails([&] { vm.set_instrument(Value(3)); }, "TypeError", "not a function"));
    vm.set_instrument(std::shared_ptr<hammock::Instrument>());
    CHECK(vm.call("ask", x).kind() == HAMMOCK_TENSOR && seen == 1);
}

static void profile(const Model &model) {
    auto &[_, vm, x, y] = model;
    hammock::Profiler profiler(100);
    vm.set_profiler(profiler);
    vm.call("main", x, y);
    vm.clear_instrument();
    CHECK(contains(profiler.table(), "model.py:12") && contains(profiler.json(), "\"main\""));
    CHECK(contains(profiler.trace(), "traceEvents") && contains(profiler.flame_graph(), "<svg"));
    CHECK(profiler.render("table") == profiler.table());
    FAILS("ValueError", "none of table", profiler.render("pie"));
    profiler.reset();
    CHECK(!contains(profiler.table(), "model.py:12"));
}

static void run(const char *path) {
    CHECK(hammock::version().find('.') != std::string::npos);
    hammock::set_threads(2);
    hold_values();
    hold_tensors();
    hold_functions();
    reflect_on_values();
    use_modules(path);
    hammock::register_function("capi.twice", Value::function([](const Value *args, size_t count) {
        if (count != 1) throw std::invalid_argument("twice takes one tensor");
        Floats doubled = args[0].elements<float>();
        if (doubled[0] < 0) throw std::invalid_argument("nothing negative, please");
        for (float &element : doubled) element *= 2;
        return Value::tensor<float>({2, 3}, doubled);
    }));
    load(path);
    Model model{hammock::Library::open(path)};
    call(model);
    call_into_tensors(model);
    call_in_steps(model);
    save_and_time(model);
    stop(model);
    watch(model);
    profile(model);
    limit(model);
    hammock::unregister_function("capi.twice");
}

int main(int, char **args) {
    try {
        run(args[1]);
    } catch (const std::exception &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
    std::cout << "ok\n";
}
