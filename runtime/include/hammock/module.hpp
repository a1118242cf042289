// Part of hammock.hpp: modules, one interface to everything that holds functions.
#ifndef HAMMOCK_MODULE_HPP
#define HAMMOCK_MODULE_HPP

#include "value.hpp"

#include <map>

namespace hammock {

/// A module: a compiled model, a virtual machine, or functions of the host program.
class Module {
public:
    /// The module in a value.
    explicit Module(Value value) : value_(std::move(value)) { kind(); }

    /// Creates a module of functions of the host program, with a kind such as "app.tokenizer".
    Module(Name kind, const std::map<std::string, Value> &functions) {
        std::vector<const char *> names;
        std::vector<Value> values;
        for (const auto &[name, function] : functions) {
            names.push_back(name.c_str());
            values.push_back(function);
        }
        value_ = Value::made([&](hammock_any *module) {
            return hammock_module(kind.c(), names.data(), Value::c(values), names.size(), module);
        });
    }

    /// Loads a module that `save` serialized.
    static Module load(std::string_view bytes) {
        return Module(Value::made(
            [&](hammock_any *module) { return hammock_module_load(bytes.data(), bytes.size(), module); }));
    }

    std::string kind() const {
        return Value::made([&](hammock_any *kind) { return hammock_module_kind(&value_.c(), kind); }).string();
    }

    bool is_serializable() const { return (properties() & HAMMOCK_MODULE_SERIALIZABLE) != 0; }
    bool is_runnable() const { return (properties() & HAMMOCK_MODULE_RUNNABLE) != 0; }

    /// The names of its own functions.
    std::vector<std::string> functions() const {
        auto names = [&](hammock_any *names) { return hammock_module_functions(&value_.c(), names); };
        return Value::made(names).strings();
    }

    /// A function by name: its own, otherwise an imported module's.
    std::optional<Value> find(Name name) const {
        Value found = Value::made(
            [&](hammock_any *function) { return hammock_module_function(&value_.c(), name.c(), function); });
        return found.is_none() ? std::nullopt : std::optional(found);
    }

    /// The modules that it imports.
    std::vector<Module> imports() const {
        std::vector<Module> found;
        auto imports = [&](hammock_any *imports) { return hammock_module_imports(&value_.c(), imports); };
        for (const Value &module : Value::made(imports).fields()) found.emplace_back(module);
        return found;
    }

    /// Serializes the module with all its imports.
    std::string save() const {
        return Value::made([&](hammock_any *bytes) { return hammock_module_save(&value_.c(), bytes); }).bytes();
    }

    const Value &value() const { return value_; }

private:
    int64_t properties() const {
        int64_t properties;
        check(hammock_module_properties(&value_.c(), &properties));
        return properties;
    }

    Value value_;
};

} // namespace hammock

#endif
