// Loads a model and runs it through the C++ header. Prints "ok" at the end.
#include "hammock.hpp"

#include <iostream>

using hammock::Value;

#define CHECK(condition)                                                                                   \
    do {                                                                                                   \
        if (!(condition)) throw std::runtime_error("line " + std::to_string(__LINE__) + ": " + #condition); \
    } while (0)

template <typename Body> std::string kind_of_error(Body body) {
    try {
        body();
    } catch (const hammock::Error &error) {
        return error.kind();
    }
    return "none";
}

static void run(const char *path) {
    auto twice = Value::function([](const Value *args, size_t count) {
        if (count != 1) throw std::invalid_argument("twice takes one tensor");
        std::vector<float> doubled;
        for (int i = 0; i < 6; i++) doubled.push_back(2 * args[0].data<float>()[i]);
        return Value::tensor<float>({2, 3}, doubled);
    });
    hammock::register_function("capi.twice", twice);
    CHECK(kind_of_error([&] { twice(1, 2); }) == "RuntimeError");

    hammock::Vm vm(hammock::Library::open(path));
    CHECK(vm.functions().size() == 2 && vm.parameters("main")[0] == "x");

    auto memory = std::make_shared<std::vector<float>>(6, 1.0f);
    Value x = Value::tensor<float>({2, 3}, {0, 1, 2, 3, 4, 5});
    Value y = Value::borrow({2, 3}, memory->data(), memory);
    Value result = vm.call("main", x, y);
    CHECK(result.size() == 2 && result[0].data<float>()[5] == 6 && result[1][0].data<float>()[5] == 5);
    CHECK((result[0].sizes() == std::vector<int64_t>{2, 3}));
    CHECK(vm.call("ask", x).data<float>()[1] == 3);
    CHECK(vm.function("ask")(y).to_host().data<float>()[0] == 3);

    vm.set_input("main", "x", x);
    vm.set_input("main", "y", y);
    vm.invoke_stateful("main");
    CHECK(vm.output("main", {1, 0}).data<float>()[4] == 4);
    CHECK(vm.memory().peak > 0);

    CHECK(kind_of_error([&] { vm.call("main", x); }) == "TypeError");
    CHECK(kind_of_error([&] { vm.call("nobody"); }) == "ValueError");
    CHECK(kind_of_error([&] { result[0].data<int32_t>(); }) == "TypeError");
    CHECK(kind_of_error([&] { hammock::Library::open("missing.so"); }) == "ValueError");

    Value pair = Value::tuple({7, "a text that is long"});
    CHECK(pair[0].integer() == 7 && pair[1].string() == "a text that is long" && Value(true).number() == 1);
    Value copy = pair;
    pair = Value::shape({4, 5});
    CHECK(copy.size() == 2 && pair.sizes()[1] == 5 && pair.show() == "shape[4, 5]\n");

    CHECK(memory.use_count() > 1);
    y = Value();
    vm.set_input("main", "y", x);
    CHECK(memory.use_count() == 1);
    hammock_unregister("capi.twice");
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
