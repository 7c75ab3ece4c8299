//! Arithmetic in values: `(4 * 1k + 512)`.

use super::error::{OptionError, Result, quoted};
use super::options::option::Form;
use super::value::{OptionValue, Unit};

/// How deep parentheses may be nested.
const DEEPEST: usize = 64;

/// Above this, not every whole number has a value of its own.
const LARGEST: f64 = (1u64 << 53) as f64;

/// What numbers stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Numbers {
    /// Whole ones without units; divisions leave no fraction. For what stands beside a keyword.
    Whole,
    /// Bytes or counts, with the units of sizes; this is what `k` stands for.
    Sizes(u64),
    /// Times in microseconds, with the units of times.
    Times,
}

/// What an expression, with or without parentheses around it, comes to.
pub(super) fn evaluate(text: &str, numbers: Numbers) -> Result<f64> {
    let mut reader = Reader { rest: text.trim(), numbers, depth: 0 };
    let value = reader.sum()?;
    if !reader.rest.is_empty() {
        return Err(OptionError::refused(
            format!("{} is not understood", quoted(reader.rest)),
            "use numbers, + - * / % ^ and parentheses",
        ));
    }
    if !value.is_finite() || value.abs() > LARGEST {
        return Err(OptionError::refused("the result is too large", "specify a smaller one"));
    }
    // Not the negative zero.
    Ok(value + 0.0)
}

/// The value of an option with all that stands in parentheses worked out, where such an option takes numbers.
///
/// # Errors
/// The parentheses hold no arithmetic.
pub(super) fn worked_out(value: &str, form: Form, kb_base: u64) -> Result<String> {
    let sizes = Numbers::Sizes(kb_base);
    let kinds: &[Numbers] = match form {
        Form::Choice(_) | Form::Text => return Ok(value.to_owned()),
        Form::Time(_) => &[Numbers::Times],
        Form::Special(_) => &[sizes, Numbers::Times],
        Form::Flag | Form::Integer { .. } | Form::Number { .. } | Form::Size | Form::SizeOrPercent => {
            &[sizes]
        }
    };
    let mut out = String::new();
    let mut rest = value;
    while let Some((before, inside, after)) = parenthesised(rest) {
        out.push_str(before);
        let results = kinds.iter().map(|numbers| evaluate(inside, *numbers).map(|result| (result, *numbers)));
        match results.reduce(|one, other| one.or(other)) {
            Some(Ok((result, Numbers::Times))) => out.push_str(&format!("{result}us")),
            Some(Ok((result, _))) if matches!(form, Form::Number { .. }) => out.push_str(&result.to_string()),
            Some(Ok((result, _))) => out.push_str(&format!("{:.0}", result.trunc() + 0.0)),
            // Parentheses may mean something else in what is not a plain number.
            Some(Err(_)) | None if matches!(form, Form::Special(_)) => out.push_str(inside),
            Some(Err(error)) => {
                return Err(OptionError::refused(
                    format!("{} cannot be worked out", quoted(inside)),
                    format!("{error}"),
                ));
            }
            None => out.push_str(inside),
        }
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

/// What is before the first parenthesis, it and all up to the one that closes it (or to the end), and what is after that.
fn parenthesised(text: &str) -> Option<(&str, &str, &str)> {
    let start = text.find('(')?;
    let mut depth = 0usize;
    let closing = text[start..].bytes().position(|byte| {
        match byte {
            b'(' => depth += 1,
            b')' => depth -= 1,
            _ => {}
        }
        depth == 0
    });
    let end = closing.map_or(text.len(), |at| start + at + 1);
    Some((&text[..start], &text[start..end], &text[end..]))
}

struct Reader<'a> {
    rest: &'a str,
    numbers: Numbers,
    depth: usize,
}

impl Reader<'_> {
    fn sum(&mut self) -> Result<f64> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        Ok(value)
    }

    fn product(&mut self) -> Result<f64> {
        let mut value = self.signed()?;
        while let Some(operator) = self.operator(&['*', '/', '%']) {
            let right = self.signed()?;
            if operator != '*' && right == 0.0 {
                return Err(OptionError::refused("it divides by zero", "specify another divisor"));
            }
            value = match operator {
                '*' => value * right,
                '%' => value % right,
                _ if self.numbers == Numbers::Whole => (value / right).trunc(),
                _ => value / right,
            };
        }
        Ok(value)
    }

    /// A minus binds less than a power: -2^2 is -4.
    fn signed(&mut self) -> Result<f64> {
        let mut sign = 1.0;
        while let Some(operator) = self.operator(&['-', '+']) {
            if operator == '-' {
                sign = -sign;
            }
        }
        Ok(sign * self.power()?)
    }

    /// Powers of powers are worked out from the right: 2^3^2 is 2^9.
    fn power(&mut self) -> Result<f64> {
        let mut factors = vec![self.operand()?];
        while self.operator(&['^']).is_some() {
            factors.push(self.operand()?);
        }
        let last = factors.pop().unwrap_or(1.0);
        Ok(factors.into_iter().rfold(last, |exponent, base: f64| base.powf(exponent)))
    }

    fn operand(&mut self) -> Result<f64> {
        if self.operator(&['(']).is_none() {
            return self.number();
        }
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(OptionError::refused(
                format!("its parentheses are more than {DEEPEST} deep"),
                "take some away",
            ));
        }
        let value = self.sum()?;
        self.depth -= 1;
        if self.operator(&[')']).is_none() {
            return Err(OptionError::refused("a closing parenthesis is missing", "add it"));
        }
        Ok(value)
    }

    fn number(&mut self) -> Result<f64> {
        let end = self.rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.');
        let (text, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        if text.is_empty() {
            let found = if rest.is_empty() { "its end".to_owned() } else { quoted(rest) };
            return Err(OptionError::refused(format!("a number is missing before {found}"), "add it"));
        }
        self.rest = rest.trim_start();
        let given = |kb_base| OptionValue { text: Some(text), kb_base };
        match self.numbers {
            Numbers::Whole => {
                text.parse::<u64>().map(|n| n as f64).map_err(|_| OptionError::malformed(text, "number"))
            }
            // Fractions without a unit are kept, for what is not a size.
            Numbers::Sizes(base) => match text.parse::<f64>() {
                Ok(number) => Ok(number),
                Err(_) => given(base).size().map(|size| size.0 as f64),
            },
            Numbers::Times => given(1024).time(Unit::Microseconds).map(|time| time.0 as f64 / 1e3),
        }
    }

    /// The next character, if it is one of these.
    fn operator(&mut self, operators: &[char]) -> Option<char> {
        let next = self.rest.chars().next().filter(|next| operators.contains(next))?;
        self.rest = self.rest[next.len_utf8()..].trim_start();
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_bind_as_in_school() {
        for (text, value) in [
            ("1+2*3", 7.0),
            ("(1+2)*3", 9.0),
            ("2^3^2", 512.0),
            ("-2^2", -4.0),
            ("2 - -3", 5.0),
            ("7 % 4 / 2", 1.5),
            ("( 4 * 1k + 0x10 )", 4112.0),
            ("1.5 * 1m", 1_572_864.0),
            ("0.5+.25", 0.75),
        ] {
            assert_eq!(evaluate(text, Numbers::Sizes(1024)).unwrap(), value, "{text}");
        }
        assert_eq!(evaluate("3/2*2", Numbers::Whole).unwrap(), 2.0);
        assert_eq!(evaluate("(2*3s)+1ms+5", Numbers::Times).unwrap(), 6_001_005.0);
    }

    #[test]
    fn values_are_worked_out_where_numbers_are_taken() {
        let special = Form::Special("sizes and shares");
        for (value, form, expected) in [
            ("(4*1k)", Form::Size, "4096"),
            ("(4*1k),(2*1k)", Form::Size, "4096,2048"),
            ("(3/2)", Form::Size, "1"),
            ("(2*3s)", Form::Time(Unit::Seconds), "6000000us"),
            ("(1000)", Form::Time(Unit::Seconds), "1000us"),
            ("(1/4)", Form::Number { min: 0.0, max: 1.0 }, "0.25"),
            ("(4*1k)/50:8k/50", special, "4096/50:8k/50"),
            ("(1s)-(2s)", special, "1000000us-2000000us"),
            ("\"a(b\"", special, "\"a(b\""),
            ("/tmp/(1+1)", Form::Text, "/tmp/(1+1)"),
            ("4k", Form::Size, "4k"),
        ] {
            assert_eq!(worked_out(value, form, 1024).unwrap(), expected, "{value}");
        }
        assert_eq!(worked_out("(4k)", Form::Size, 1000).unwrap(), "4000");
        assert!(
            worked_out("(4*", Form::Size, 1024)
                .unwrap_err()
                .to_string()
                .starts_with("`(4*` cannot be worked out")
        );
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for (text, part) in [
            ("", "a number is missing"),
            ("1+", "a number is missing"),
            ("(1", "closing parenthesis"),
            ("1)", "`)` is not understood"),
            ("1/0", "divides by zero"),
            ("1%(2-2)", "divides by zero"),
            ("10^400", "too large"),
            ("(0-1)^0.5", "too large"),
            ("4 parsecs", "`parsecs` is not understood"),
            ("4parsecs", "not a unit"),
        ] {
            let error = evaluate(text, Numbers::Sizes(1024)).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
        assert!(evaluate("4k", Numbers::Whole).is_err());
        assert!(evaluate(&"(".repeat(1 << 20), Numbers::Whole).unwrap_err().to_string().contains("64 deep"));
    }
}
