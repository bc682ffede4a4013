//! Reads the list of models of an endpoint (mission M7.4-list).
//!
//! - Asked by the client.
//! - Owns nothing.

use std::collections::BTreeMap;

use serde_json::Value;

/// A model that an endpoint offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// Its name.
    pub name: String,
    /// The longest request that it takes, in tokens, where the endpoint says so (LLM-12).
    pub max_input_tokens: Option<u64>,
}

/// Reads `body`: names without repetition, sorted; `None` when it is no list.
pub(crate) fn read(body: &Value) -> Option<Vec<KnownModel>> {
    let entries = body.get("data").or_else(|| body.get("models")).unwrap_or(body).as_array()?;
    let mut models: BTreeMap<&str, Option<u64>> = BTreeMap::new();
    for entry in entries {
        let named = |name: &str| entry.get(name).and_then(Value::as_str).filter(|name| !name.is_empty());
        let Some(name) = named("id").or_else(|| named("model_name")).or_else(|| entry.as_str()) else {
            continue;
        };
        // LiteLLM's own list says it at the top, its `/model/info` inside `model_info`; numbers may be floats.
        let limit = ["/max_input_tokens", "/model_info/max_input_tokens"].iter().find_map(|pointer| {
            let limit = entry.pointer(pointer)?;
            limit.as_u64().or_else(|| limit.as_f64().map(|limit| limit as u64)).filter(|limit| *limit > 0)
        });
        let known = models.entry(name).or_default();
        *known = known.or(limit);
    }
    let models = models.into_iter();
    Some(
        models
            .map(|(name, max_input_tokens)| KnownModel { name: name.to_owned(), max_input_tokens })
            .collect(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn names_are_sorted_and_unique() {
        let body = json!({"data": [{"id": "b"}, {"model_name": "a", "model_info": {"max_input_tokens": 8192.0}},
            {"id": "b", "max_input_tokens": 4096}, {"id": ""}, {"x": 1}]});
        let model = |name: &str, max_input_tokens| KnownModel { name: name.to_owned(), max_input_tokens };
        assert_eq!(read(&body), Some(vec![model("a", Some(8192)), model("b", Some(4096))]));
        assert_eq!(read(&json!({"data": []})), Some(vec![]));
        assert_eq!(read(&json!({"error": "x"})), None);
    }
}
