//! client ENDPOINT CACHE REPOSITORY FILE...: downloads files of a model, and prints their paths. HF_TOKEN is the token.
use hf_hub::api::sync::ApiBuilder;

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let api = ApiBuilder::new()
        .with_endpoint(words[1].clone())
        .with_cache_dir(words[2].clone().into())
        .with_token(std::env::var("HF_TOKEN").ok())
        .with_progress(false)
        .build()
        .unwrap();
    for file in &words[4..] {
        match api.model(words[3].clone()).get(file) {
            Ok(path) => println!("{}", path.display()),
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1)
            }
        }
    }
}
