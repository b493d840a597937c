//! Tests of the resolver, from policy text to printed rules.
