"""The families under the module name that XGrammar gives them; see `tokenstile.tool_calling`."""

from tokenstile.tool_calling import (
    get_builtin_structural_tag,
    get_model_structural_tag,
    normalize_tool_choice,
    register_model_structural_tag,
)
from tokenstile.tool_calling.cohere import get_cohere_structural_tag
from tokenstile.tool_calling.deepseek import (
    get_deepseek_r1_structural_tag,
    get_deepseek_v3_1_structural_tag,
    get_deepseek_v3_2_structural_tag,
    get_deepseek_v4_1_structural_tag,
    get_deepseek_v4_structural_tag,
)
from tokenstile.tool_calling.exaone import get_exaone_structural_tag
from tokenstile.tool_calling.glm import get_glm_4_7_structural_tag
from tokenstile.tool_calling.harmony import get_harmony_structural_tag
from tokenstile.tool_calling.kimi import get_kimi_k3_structural_tag, get_kimi_structural_tag
from tokenstile.tool_calling.llama import get_llama_structural_tag
from tokenstile.tool_calling.mimo import get_mimo_structural_tag
from tokenstile.tool_calling.minimax import get_minimax_m3_structural_tag, get_minimax_structural_tag
from tokenstile.tool_calling.qwen import (
    get_qwen_3_5_structural_tag,
    get_qwen_3_coder_structural_tag,
    get_qwen_3_structural_tag,
)

__all__ = [
    "get_builtin_structural_tag",
    "get_cohere_structural_tag",
    "get_deepseek_r1_structural_tag",
    "get_deepseek_v3_1_structural_tag",
    "get_deepseek_v3_2_structural_tag",
    "get_deepseek_v4_1_structural_tag",
    "get_deepseek_v4_structural_tag",
    "get_exaone_structural_tag",
    "get_glm_4_7_structural_tag",
    "get_harmony_structural_tag",
    "get_kimi_k3_structural_tag",
    "get_kimi_structural_tag",
    "get_llama_structural_tag",
    "get_mimo_structural_tag",
    "get_minimax_m3_structural_tag",
    "get_minimax_structural_tag",
    "get_model_structural_tag",
    "get_qwen_3_5_structural_tag",
    "get_qwen_3_coder_structural_tag",
    "get_qwen_3_structural_tag",
    "normalize_tool_choice",
    "register_model_structural_tag",
]
