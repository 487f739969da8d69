//! Curves as an SVG picture.

use std::path::Path;

use plotters::prelude::*;

/// A curve: its name and its points.
pub type Curve = (String, Vec<(f64, f64)>);

/// What a plotting library, or the file, refused.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Writes curves over a common x axis, with a point at each value.
///
/// # Errors
/// When the file cannot be written.
pub fn curves(path: &Path, title: &str, [x_name, y_name]: [&str; 2], curves: &[Curve]) -> Result<(), Failure> {
    let points = || curves.iter().flat_map(|(_, points)| points.iter().copied());
    let most = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MIN, f64::max);
    let least = |values: &mut dyn Iterator<Item = f64>| values.fold(f64::MAX, f64::min);
    let x = least(&mut points().map(|p| p.0))..most(&mut points().map(|p| p.0));
    let y = least(&mut points().map(|p| p.1)).min(0.0)..1.05 * most(&mut points().map(|p| p.1));
    let area = SVGBackend::new(path, (900, 520)).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 22))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y)?;
    chart.configure_mesh().x_desc(x_name).y_desc(y_name).light_line_style(WHITE).draw()?;
    for (i, (name, points)) in curves.iter().enumerate() {
        let color = Palette99::pick(i).to_rgba();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(3)));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .position(SeriesLabelPosition::UpperRight)
        .draw()?;
    area.present()?;
    Ok(())
}

/// The folder for pictures, if one was given on the command line.
pub fn folder_from_args() -> Option<std::path::PathBuf> {
    std::env::args_os().nth(1).map(std::path::PathBuf::from)
}
