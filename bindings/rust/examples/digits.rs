//! Recognises handwritten digits: `digits MODEL.pt2 IMAGES.npy...`.

fn images(path: &str) -> std::io::Result<Vec<f32>> {
    let bytes = std::fs::read(path)?;
    let header = 10 + usize::from(bytes[8]) + 256 * usize::from(bytes[9]);
    let float = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    Ok(bytes[header..].chunks_exact(4).map(float).collect())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let mut session = pt2::Model::load(&paths[0])?.session()?;
    for path in &paths[1..] {
        let pixels = images(path)?;
        let count = (pixels.len() / 64) as i64;
        let outputs = session.run(&[pt2::Input::new(&pixels, &[count, 1, 8, 8])])?;
        let scores: &[f32] = outputs[0].as_slice()?;
        print!("{}", if count == 1 { "this is a" } else { "these are" });
        for row in scores.chunks(10) {
            let best = (0..10).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap_or(0);
            print!(" {best}");
        }
        println!();
    }
    Ok(())
}
