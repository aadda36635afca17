"""Device memory in use that the caching allocator does not hold, after each thing that may take some."""
import json, os, sys, torch, torch.nn.functional as F, torch.distributed as dist
out = {}
def mark(name):
    torch.cuda.synchronize()
    free, total = torch.cuda.mem_get_info()
    out[name] = total - free - torch.cuda.memory_reserved()
torch.cuda.init(); torch.zeros(1, device="cuda"); mark("context")
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16); a @ a; mark("cublas bf16")
(a.float() @ a.float()); mark("cublas fp32")
F.layer_norm(a, (4096,)); torch.sort(a.float().flatten()); mark("more kernels")
x = [torch.randn(2, 32, 2048, 128, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
from torch.nn.attention import sdpa_kernel, SDPBackend as B
for k in (B.FLASH_ATTENTION, B.EFFICIENT_ATTENTION, B.CUDNN_ATTENTION):
    with sdpa_kernel(k):
        F.scaled_dot_product_attention(*x, is_causal=True).sum().backward()
    mark("attention " + k.name)
F.conv2d(torch.randn(8, 64, 64, 64, device="cuda"), torch.randn(64, 64, 3, 3, device="cuda")); mark("cudnn convolution")
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
dist.init_process_group("nccl", rank=0, world_size=1, device_id=torch.device("cuda", 0)); mark("nccl group of one")
y = torch.empty(1 << 24, device="cuda"); dist.all_gather_into_tensor(torch.empty_like(y), y); mark("nccl all_gather")
dist.reduce_scatter_tensor(torch.empty_like(y), y); dist.all_reduce(y); mark("nccl reduce_scatter all_reduce")
g = dist.new_group([0]); dist.all_reduce(y, group=g); mark("second nccl group")
print(json.dumps(dict(device=torch.cuda.get_device_name(), total=torch.cuda.mem_get_info()[1], properties=str(torch.cuda.get_device_properties(0)), torch=torch.__version__, cuda=torch.version.cuda, nccl=torch.cuda.nccl.version(), cudnn=torch.backends.cudnn.version(), outside_bytes=out)))
