//! What a run will write, in one line: printed before it begins.

use iolite_model::{DriveWear, Nanos, WritePlan};

/// The plan in words; `None` where nothing is written.
pub fn line(plan: &WritePlan) -> Option<String> {
    if plan.bytes.0 == 0 && plan.timed.0 == 0 {
        return None;
    }
    let max = plan.max_bytes();
    let mut text = match (plan.bytes.0, plan.timed.0) {
        (_, 0) => format!("writes up to {max}"),
        (0, _) => format!("writes for {}: up to {max}, assuming {}/s", time(plan.timed), WritePlan::ASSUMED),
        _ => format!(
            "writes {}, then writes for {}: up to {max} in total, assuming {}/s",
            plan.bytes,
            time(plan.timed),
            WritePlan::ASSUMED
        ),
    };
    if let Some(max) = plan.max {
        text += &format!(" (--max-write {max})");
    }
    if plan.duration.0 > 0 {
        text += &format!("; takes about {}", time(plan.duration));
    }
    let worn = plan.drives.iter().map(|drive| worn(drive, plan));
    text += &worn.collect::<String>();
    Some(text)
}

/// A time; from two hours on in hours.
fn time(time: Nanos) -> String {
    const HOUR: f64 = 3600.0;
    let hours = time.as_secs_f64() / HOUR;
    if hours < 2.0 { time.to_string() } else { format!("{hours:.1} h") }
}

fn worn(drive: &DriveWear, plan: &WritePlan) -> String {
    let DriveWear { device, used_percent, .. } = drive;
    let shown = |share: f64| match share {
        share if share < 0.001 => "less than 0.001 %".to_owned(),
        share => format!("{share:.3} %"),
    };
    match (drive.share(plan.max_bytes()).map(shown), drive.rated(), *used_percent) {
        (Some(share), Some(rated), 0) => {
            format!("; {share} of the endurance of {device} (rated for {rated} or more, less than 1 % used)")
        }
        (Some(share), Some(rated), used) => {
            format!("; {share} of the endurance of {device} (rated for about {rated}, {used} % used)")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iolite_model::Bytes;

    #[test]
    fn days_are_in_hours() {
        let hours = |hours: u64| Nanos(hours * 3600 * Nanos::SECOND.0);
        let plan = WritePlan { timed: hours(1), duration: hours(135), ..WritePlan::default() };
        let line = line(&plan).unwrap();
        assert!(line.contains("writes for 3600 s:") && line.ends_with("takes about 135.0 h"), "{line}");
    }

    #[test]
    fn a_plan_is_one_line() {
        let plan = WritePlan {
            bytes: Bytes(8 << 30),
            timed: Nanos(9 * Nanos::SECOND.0),
            duration: Nanos(40 * Nanos::SECOND.0),
            ..WritePlan::default()
        };
        let known = WritePlan { timed: Nanos(0), ..plan.clone() };
        let wear = |used_percent| DriveWear {
            device: "nvme0n1".into(),
            used_percent,
            written: Bytes(30_000_000_000_000),
        };
        let limited =
            WritePlan { max: Some(Bytes(10 << 30)), drives: vec![wear(5), wear(0)], ..plan.clone() };
        let lines = [line(&known), line(&plan), line(&limited), line(&WritePlan::default())];
        insta::assert_snapshot!(lines.map(|line| line.unwrap_or("-".into())).join("\n"), @"
        writes up to 8 GiB; takes about 40.0 s
        writes 8 GiB, then writes for 9.00 s: up to 12.4 GiB in total, assuming 500 MiB/s; takes about 40.0 s
        writes 8 GiB, then writes for 9.00 s: up to 10 GiB in total, assuming 500 MiB/s (--max-write 10 GiB); takes about 40.0 s; 0.002 % of the endurance of nvme0n1 (rated for about 546 TiB, 5 % used); less than 0.001 % of the endurance of nvme0n1 (rated for 2.66 PiB or more, less than 1 % used)
        -
        ");
    }
}
