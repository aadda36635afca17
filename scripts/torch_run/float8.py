"""Float8 matrix products of the blocks' linear layers, by torchao."""


def apply_float8(model, plan):
    scaling = plan["pytorch"]["float8"]
    if scaling == "none":
        return
    from torchao.float8 import Float8LinearConfig, convert_to_float8_training

    convert_to_float8_training(
        model,
        config=Float8LinearConfig.from_recipe_name(scaling),
        module_filter_fn=lambda module, name: "layers" in name.split("."),
    )
