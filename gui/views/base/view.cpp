#include "gui/views/base/view.hpp"
