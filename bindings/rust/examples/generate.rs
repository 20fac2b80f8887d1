//! Prints the greedily generated tokens of each prompt: `generate FOLDER COUNT READ IDS...`. READ is the encoder's
//! input ids, or - without an encoder. Each IDS is one prompt.

fn ids(list: &str) -> Vec<i64> {
    list.split(',').filter_map(|id| id.parse().ok()).collect()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut decoder = pt2::Decoder::open(&arguments[0])?;
    let read = ids(&arguments[2]);
    if !read.is_empty() {
        let sizes = [1, read.len() as i64];
        let mask = vec![1i64; read.len()];
        decoder.give(&[
            ("input_ids", pt2::Input::new(&read, &sizes)),
            ("attention_mask", pt2::Input::new(&mask, &sizes)),
        ])?;
    }
    let prompts: Vec<Vec<i64>> = arguments[3..].iter().map(|list| ids(list)).collect();
    let prompts: Vec<&[i64]> = prompts.iter().map(Vec::as_slice).collect();
    let mut told = 0;
    let how = pt2::Generate {
        max_new_tokens: Some(arguments[1].parse()?),
        sampling: Some(pt2::Sampling { temperature: 0.0, top_k: 0, top_p: 1.0, seed: 0 }),
        on_token: Some(&mut |_, _| {
            told += 1;
            true
        }),
        ..Default::default()
    };
    let texts = decoder.generate(&prompts, how)?;
    assert_eq!(told, texts.iter().map(Vec::len).sum::<usize>());
    for text in texts {
        println!("{}", text.iter().map(i64::to_string).collect::<Vec<_>>().join(","));
    }
    Ok(())
}
