"""A small causal Transformer in which position enters only through the method that it is given.

Pre-norm layers, attention from snippets/attention.py or from the method, a GELU network between.
Token embeddings start with standard deviation 0.5: a sinusoid has norm sqrt(d_model / 2) and
would bury smaller ones.
"""

from torch import Tensor, nn

from lab.position_methods import Positions
from snippets.masks import causal_mask

D_MODEL, N_HEADS, N_LAYERS = 64, 4, 2
EMBEDDING_STD = 0.5


class Layer(nn.Module):
    """x plus attention, plus a network of one hidden layer; (B, T, d_model) in and out."""

    def __init__(self, number: int, d_model: int, n_heads: int):
        super().__init__()
        self.number, self.n_heads = number, n_heads
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)
        self.network = nn.Sequential(
            nn.Linear(d_model, 4 * d_model), nn.GELU(), nn.Linear(4 * d_model, d_model)
        )

    def forward(self, x: Tensor, method: Positions, positions: Tensor, mask: Tensor) -> Tensor:
        heads = self.qkv(self.norm_1(x)).unflatten(-1, (3, self.n_heads, -1))  # (B, T, 3, H, D)
        q, k, v = heads.permute(2, 0, 3, 1, 4)  # 3 x (B, H, T, D)
        q, k = method.turn(q, positions, keys=False), method.turn(k, positions, keys=True)
        y = method.attend(q, k, v, positions, positions, mask, layer=self.number)  # (B, H, T, D)
        x = x + self.out(y.transpose(1, 2).flatten(2))  # (B, T, d_model)
        return x + self.network(self.norm_2(x))


class SmallModel(nn.Module):
    """Tokens and their positions in, logits of the next token out.

    The method's parameters are drawn last: models of one seed share all other weights.
    """

    def __init__(
        self,
        n_symbols: int,
        make_method,
        *,
        d_model: int = D_MODEL,
        n_heads: int = N_HEADS,
        n_layers: int = N_LAYERS,
    ):
        super().__init__()
        self.embedding = nn.Embedding(n_symbols, d_model)
        nn.init.normal_(self.embedding.weight, std=EMBEDDING_STD)
        self.layers = nn.ModuleList(Layer(i, d_model, n_heads) for i in range(n_layers))
        self.norm, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, n_symbols)
        self.method = make_method(d_model, n_heads, n_layers)

    def forward(self, tokens: Tensor, positions: Tensor) -> Tensor:
        """tokens (B, T), positions (T,): logits (B, T, n_symbols)."""
        x = self.method.embed(self.embedding(tokens), positions)  # (B, T, d_model)
        mask = causal_mask(positions, positions)  # (T, T)
        for layer in self.layers:
            x = layer(x, self.method, positions, mask)
        return self.head(self.norm(x))
