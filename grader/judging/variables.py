"""Read, list and rename the variables of a definition: its names, and the attributes that it stores on `self`.

A variable is named `x`, or `self.x` if it is an attribute of the object. The comparison of texts (`variable_roles.py`,
`compared_statements.py`, `inlined_helpers.py`), repairs and the clinic use these functions. Which variables correspond
to each other is decided in `variable_roles.py`. Another form of variable is read in `variable_name` and
`_variable_set_by`, and written in `rename_variables`.
"""

import ast


def variable_name(node: ast.AST) -> str | None:
    """Return the name of the variable that the node is, `x` or `self.x`; None if it is anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return f"self.{node.attr}"
    return None


def variables_in(node: ast.AST) -> set[str]:
    """Return the variables that a definition sets: parameters, assigned names, and attributes stored on `self`."""
    return {name for child in ast.walk(node) if (name := _variable_set_by(child)) is not None}


def rename_variables(node: ast.AST, new_names: dict[str, str]) -> ast.AST:
    """Return a copy of a tree in which variables have new names. The new nodes of renamed uses have no line numbers.

    Args:
        node: the tree; it is not modified.
        new_names: new name by old name, each `x` or `self.x`; other variables keep theirs.
    """
    old_name = variable_name(node)
    if old_name is not None and old_name in new_names and isinstance(node, ast.Name | ast.Attribute):
        new_name = new_names[old_name]
        if new_name.startswith("self."):
            return ast.Attribute(ast.Name("self", ast.Load()), new_name.removeprefix("self."), node.ctx)
        return ast.Name(new_name, node.ctx)
    copy = type(node)(**{field: _rename_in_field(value, new_names) for field, value in ast.iter_fields(node)})
    if isinstance(copy, ast.arg):
        copy.arg = new_names.get(copy.arg, copy.arg)
    return ast.copy_location(copy, node)


def _variable_set_by(node: ast.AST) -> str | None:
    """Return the variable that this node itself sets, without the nodes inside it; None if it sets none."""
    if isinstance(node, ast.arg):
        return node.arg
    if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
        return variable_name(node)
    return None


def _rename_in_field(value: object, new_names: dict[str, str]) -> object:
    """Return a copy of the value of an AST field (a node, a list of nodes, or anything else) with new names."""
    if isinstance(value, list):
        return [_rename_in_field(item, new_names) for item in value]
    return rename_variables(value, new_names) if isinstance(value, ast.AST) else value
