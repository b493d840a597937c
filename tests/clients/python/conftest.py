"""Which methods were called is known at the end: that test comes last."""


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.name == "test_no_public_method_of_the_client_is_left_out")
