/* llama-cpp-python binds these functions of llama.cpp when it is imported, and the module of xllamacpp does not export them.
 * So a library that has them, linked to that module, stands for llama.cpp. Nothing that the tests use calls one. */
#include <stdlib.h>

#define MISSING(name) \
    void name(void) { abort(); }

MISSING(llama_batch_ext_add)
MISSING(llama_batch_ext_add_embd)
MISSING(llama_batch_ext_add_seq)
MISSING(llama_batch_ext_add_token)
MISSING(llama_batch_ext_clear)
MISSING(llama_batch_ext_free)
MISSING(llama_batch_ext_init)
MISSING(llama_batch_ext_set_embd_state)
MISSING(llama_batch_ext_set_embd_token)
MISSING(llama_batch_ext_set_output_embd)
MISSING(llama_batch_ext_set_output_logits)
MISSING(llama_batch_ext_set_pos)
MISSING(llama_get_causal_attn)
MISSING(llama_max_parallel_sequences)
MISSING(llama_model_quantize)
MISSING(llama_model_quantize_default_params)
MISSING(llama_process)
