//! Texts with escapes like `%2F`, as in an address or in the headers of a setting (RFC 3986, section 2.1).

/// The text without its escapes; `None` if a `%` is not followed by two hexadecimal digits, or the bytes are
/// not UTF-8.
pub(crate) fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::new(), text.bytes());
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let digits = [rest.next()?, rest.next()?];
                // A number could have a sign.
                let digits =
                    str::from_utf8(&digits).ok().filter(|_| digits.iter().all(u8::is_ascii_hexdigit))?;
                u8::from_str_radix(digits, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn an_escape_is_a_byte() {
        assert_eq!(decoded("a%2Fb%c3%a9").as_deref(), Some("a/bé"));
        for wrong in ["%", "%2", "%zz", "%é0", "%ff", "%+f"] {
            assert_eq!(decoded(wrong), None, "{wrong}");
        }
    }
}
