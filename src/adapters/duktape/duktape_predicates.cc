// SPDX-License-Identifier: Apache-2.0
// Duktape unwinds by longjmp, which skips destructors.  So every call into it that can throw is made in a
// function given to duk_safe_call, and such a function holds no C++ object of its own: what it needs was made
// before.
#include "adapters/duktape/duktape_predicates.h"

#include <duktape.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "base/text.h"

namespace sickbay {

class DuktapePredicates::Heap {
 public:
  explicit Heap(std::size_t headroom) : headroom_(headroom), limit_(headroom) {
    context_ = duk_create_heap(&Heap::allocate, &Heap::reallocate, &Heap::release, this, &Heap::fatal);
    SB_CHECK(context_ != nullptr, "a heap of ECMAScript fits into its headroom");
    SB_CHECK(duk_safe_call(context_, &Heap::strip_globals, nullptr, 0, 1) == DUK_EXEC_SUCCESS,
             "the global object can be emptied");
    duk_pop(context_);
  }
  ~Heap() { duk_destroy_heap(context_); }
  Heap(const Heap&) = delete;
  Heap& operator=(const Heap&) = delete;

  // `function` with `data`; its one result is left on the stack where it succeeded.  Else what was thrown.
  std::string call(duk_safe_call_function function, void* data) {
    // Each call has the same room, whatever others have compiled before it.
    limit_ = used_ + headroom_;
    if (duk_safe_call(context_, function, data, 0, 1) == DUK_EXEC_SUCCESS) return {};
    // (What was thrown may be of any length, and is somebody's text.)
    const char* thrown = duk_safe_to_string(context_, -1);
    std::string why(thrown, strnlen(thrown, 200));
    duk_pop(context_);
    duk_gc(context_, 0);  // what the failed call left must not count against the next one
    return why.empty() ? "an empty error" : why;
  }
  duk_context* context() { return context_; }
  std::size_t used() const { return used_; }

 private:
  // Before each block stands its size, in a field that keeps the block aligned.
  static constexpr std::size_t kField = alignof(std::max_align_t);
  static std::size_t& size_of(void* block) {
    return *reinterpret_cast<std::size_t*>(static_cast<char*>(block) - kField);
  }

  static void* allocate(void* self, duk_size_t size) {
    auto& heap = *static_cast<Heap*>(self);
    // Null makes Duktape collect and then throw: so a predicate that eats memory fails, and the process does
    // not.
    if (size == 0 || size > heap.limit_ || heap.used_ > heap.limit_ - size) return nullptr;
    void* raw = std::malloc(size + kField);
    if (raw == nullptr) return nullptr;
    void* block = static_cast<char*>(raw) + kField;
    size_of(block) = size;
    heap.used_ += size;
    return block;
  }
  static void* reallocate(void* self, void* block, duk_size_t size) {
    auto& heap = *static_cast<Heap*>(self);
    if (block == nullptr) return allocate(self, size);
    if (size == 0) {
      release(self, block);
      return nullptr;
    }
    const std::size_t before = size_of(block);
    // (Written so that no sum overflows.)
    if (size > before && (size > heap.limit_ || heap.used_ - before > heap.limit_ - size)) return nullptr;
    void* raw = std::realloc(static_cast<char*>(block) - kField, size + kField);
    if (raw == nullptr) return nullptr;
    block = static_cast<char*>(raw) + kField;
    size_of(block) = size;
    heap.used_ = heap.used_ - before + size;
    return block;
  }
  static void release(void* self, void* block) {
    if (block == nullptr) return;
    static_cast<Heap*>(self)->used_ -= size_of(block);
    std::free(static_cast<char*>(block) - kField);
  }
  static void fatal(void*, const char* message) {
    check_failed("no fatal error", message == nullptr ? "Duktape" : message, __FILE__, __LINE__);
  }

  static duk_ret_t strip_globals(duk_context* context, void*) {
    // A predicate is arithmetic over what it is given: no eval, no Date, no Function.
    duk_push_global_object(context);
    duk_enum(context, -1, DUK_ENUM_INCLUDE_NONENUMERABLE | DUK_ENUM_OWN_PROPERTIES_ONLY);
    while (duk_next(context, -1, 0)) {
      // NaN, Infinity and undefined cannot be taken away: the language fixes them.
      const char* name = duk_get_string(context, -1);
      const bool stays = std::strcmp(name, "Math") == 0 || std::strcmp(name, "NaN") == 0 ||
                         std::strcmp(name, "Infinity") == 0 || std::strcmp(name, "undefined") == 0;
      if (stays)
        duk_pop(context);
      else
        duk_del_prop(context, -3);
    }
    duk_pop(context);
    duk_get_prop_string(context, -1, "Math");
    duk_push_c_function(context, &Heap::known, 1);
    duk_put_prop_string(context, -2, "known");
    duk_pop_2(context);
    duk_push_undefined(context);
    return 1;
  }

  static duk_ret_t known(duk_context* context) {
    const double x = duk_get_number_default(context, 0, std::numeric_limits<double>::quiet_NaN());
    if (!std::isfinite(x))
      return duk_error(context, DUK_ERR_RANGE_ERROR, "a division by zero, or what else gives no number");
    duk_dup(context, 0);
    return 1;
  }

  std::size_t headroom_, limit_, used_ = 0;
  duk_context* context_ = nullptr;
};

namespace {

using Heap = DuktapePredicates::Heap;

// Duktape's texts are CESU-8: a character beyond the BMP is two surrogates there, as in a literal of the
// source.
std::string cesu8(const std::string& utf8) {
  std::string out;
  for (std::string_view rest = utf8; !rest.empty();) {
    const Rune rune = next_rune(rest);
    if (rune.valid && rune.code > 0xffff) {
      const char32_t low = rune.code - 0x10000;
      for (const char32_t half : {0xd800 + (low >> 10), 0xdc00 + (low & 0x3ff)}) {
        out += static_cast<char>(0xe0 | (half >> 12));
        out += static_cast<char>(0x80 | ((half >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (half & 0x3f));
      }
    } else {
      out += rest.substr(0, rune.bytes);
    }
    rest.remove_prefix(rune.bytes);
  }
  return out;
}

bool beyond_bmp(const std::string& utf8) {
  for (const char c : utf8)
    if (static_cast<unsigned char>(c) >= 0xf0) return true;
  return false;
}

struct Evaluation {
  void* function;
  std::span<const Value* const> values;
  const std::vector<std::string>* converted;  // in the place of texts beyond the BMP, by number
};

duk_ret_t evaluate_function(duk_context* context, void* data) {
  const auto& e = *static_cast<Evaluation*>(data);
  // Before anything is pushed: a push without room is a fatal error.
  duk_require_stack(context, static_cast<duk_idx_t>(e.values.size()) + 4);
  duk_push_heapptr(context, e.function);
  for (std::size_t i = 0; i < e.values.size(); ++i) {
    const Value& value = *e.values[i];
    if (const auto* b = std::get_if<bool>(&value))
      duk_push_boolean(context, static_cast<duk_bool_t>(*b));
    else if (const auto* n = std::get_if<std::int64_t>(&value))
      duk_push_number(context, static_cast<double>(*n));
    else if (const auto* d = std::get_if<double>(&value))
      duk_push_number(context, *d);
    else if (const auto* s = std::get_if<std::string>(&value)) {
      const std::string& text = e.converted->empty() || (*e.converted)[i].empty() ? *s : (*e.converted)[i];
      duk_push_lstring(context, text.data(), text.size());
    }
  }
  duk_call(context, static_cast<duk_idx_t>(e.values.size()));
  return 1;
}

struct Compilation {
  const std::string* source;
  void* function = nullptr;
};

// The compiled function is kept in the heap's stash under its own address, so that nothing collects it.
duk_ret_t compile_function(duk_context* context, void* data) {
  auto& c = *static_cast<Compilation*>(data);
  duk_push_heap_stash(context);
  duk_compile_lstring(context, DUK_COMPILE_FUNCTION | DUK_COMPILE_STRICT | DUK_COMPILE_NOFILENAME,
                      c.source->data(), c.source->size());
  c.function = duk_get_heapptr(context, -1);
  duk_push_pointer(context, c.function);
  duk_dup(context, -2);
  duk_put_prop(context, -4);
  duk_push_undefined(context);
  return 1;
}

duk_ret_t forget_function(duk_context* context, void* data) {
  duk_push_heap_stash(context);
  duk_push_pointer(context, data);
  duk_del_prop(context, -2);
  duk_push_undefined(context);
  return 1;
}

class DuktapePredicate : public Predicate {
 public:
  DuktapePredicate(std::shared_ptr<Heap> heap, void* function, std::size_t arguments)
      : heap_(std::move(heap)), function_(function), arguments_(arguments) {}
  ~DuktapePredicate() override {
    // A heap with no room for this keeps the function until it goes itself.
    if (heap_->call(&forget_function, function_).empty()) duk_pop(heap_->context());
  }
  DuktapePredicate(const DuktapePredicate&) = delete;
  DuktapePredicate& operator=(const DuktapePredicate&) = delete;

  Result<bool> evaluate(std::span<const Value* const> values) override {
    SB_CHECK(values.size() == arguments_, "one value for each variable");
    std::vector<std::string> converted;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (const auto* s = std::get_if<std::string>(values[i]); s != nullptr && beyond_bmp(*s)) {
        converted.resize(values.size());
        converted[i] = cesu8(*s);
      }
    Evaluation e{function_, values, &converted};
    if (std::string why = heap_->call(&evaluate_function, &e); !why.empty())
      return fail(ErrorCode::bad_input, "the predicate failed: " + quote_for_message(why, 200));
    const bool is_bool = duk_is_boolean(heap_->context(), -1) != 0;
    const bool truth = duk_get_boolean(heap_->context(), -1) != 0;
    duk_pop(heap_->context());
    if (!is_bool) return fail(ErrorCode::bad_input, "the predicate gave no bool");
    return truth;
  }

 private:
  std::shared_ptr<Heap> heap_;
  void* function_;
  std::size_t arguments_;
};

}  // namespace

DuktapePredicates::DuktapePredicates(std::size_t headroom) : heap_(std::make_shared<Heap>(headroom)) {}
DuktapePredicates::~DuktapePredicates() = default;
std::size_t DuktapePredicates::used() const { return heap_->used(); }

Result<std::unique_ptr<Predicate>> DuktapePredicates::compile(const std::string& expression,
                                                              const std::vector<std::string>& variables) {
  const std::string source =
      // (The line end closes a comment in the expression.)
      fmt::format("function({}){{return({}\n);}}", fmt::join(variables, ","), expression);
  Compilation c{&source};
  if (std::string why = heap_->call(&compile_function, &c); !why.empty())
    return fail(ErrorCode::bad_input, "the predicate does not compile: " + quote_for_message(why, 200));
  duk_pop(heap_->context());
  return std::make_unique<DuktapePredicate>(heap_, c.function, variables.size());
}

}  // namespace sickbay
