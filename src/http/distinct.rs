//! JSON objects that are kept as they were sent, in which no name comes twice.
//!
//! The `Value` of `serde_json` takes the last of several values of one name. So a restriction would be lost
//! of `{"frozen":true,"frozen":false}`.

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// The fields of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct DistinctFields(pub(super) Map<String, Value>);

impl<'de> Deserialize<'de> for DistinctFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields;

        impl<'de> Visitor<'de> for Fields {
            type Value = DistinctFields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DistinctFields, A::Error> {
                fields(map).map(DistinctFields)
            }
        }

        deserializer.deserialize_map(Fields)
    }
}

fn fields<'de, A: MapAccess<'de>>(mut map: A) -> Result<Map<String, Value>, A::Error> {
    let mut fields = Map::new();
    while let Some((name, DistinctValue(value))) = map.next_entry::<String, DistinctValue>()? {
        if fields.contains_key(&name) {
            return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
        }
        fields.insert(name, value);
    }
    Ok(fields)
}

/// Any value.
struct DistinctValue(Value);

impl<'de> Deserialize<'de> for DistinctValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Value;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_unit<E: Error>(self) -> Result<Value, E> {
                Ok(Value::Null)
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
                Ok(value.into())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
                let mut values = Vec::new();
                while let Some(DistinctValue(value)) = elements.next_element()? {
                    values.push(value);
                }
                Ok(values.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Value, A::Error> {
                fields(map).map(Value::Object)
            }
        }

        deserializer.deserialize_any(Any).map(DistinctValue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<Value, String> {
        let read = serde_json::from_str::<DistinctFields>(text).map_err(|error| error.to_string())?;
        Ok(Value::Object(read.0))
    }

    #[test]
    fn what_has_each_name_once_stays_as_it_is() {
        let sent = json!({
            "a": { "x": 1, "y": { "x": [] } }, "x": [null, true, -1, u64::MAX, 1.5, "t", { "x": 1 }, { "x": 2 }], "": "é",
        });
        assert_eq!(read(&sent.to_string()).unwrap(), sent);
        assert_eq!(
            serde_json::from_value::<DistinctFields>(sent.clone()).unwrap().0,
            *sent.as_object().unwrap()
        );
        assert!(read("[]").unwrap_err().contains("expected an object"));
    }

    #[test]
    fn a_name_that_comes_twice_at_any_depth_is_refused() {
        for text in [
            r#"{"x":true,"x":false}"#,
            r#"{"x":null,"y":1,"\u0078":null}"#,
            r#"{"a":{"x":1,"x":1}}"#,
            r#"{"a":[[1,{"x":1,"x":2}]]}"#,
        ] {
            assert!(read(text).unwrap_err().contains("duplicate field `x`"), "{text}");
        }
    }
}
