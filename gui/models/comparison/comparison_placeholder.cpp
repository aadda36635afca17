namespace foreshard::gui {}
