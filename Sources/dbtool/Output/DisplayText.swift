// The width of texts in terminal columns, and the notation of numbers for people.

/// Text in the form that a terminal shows.
enum DisplayText {
    /// The number of terminal columns of `text`.
    ///
    /// East Asian ideographs, syllables and full-width forms, and emoji are wide (2 columns). The first scalar of a
    /// grapheme determines its width. Follows the ranges of Unicode's EastAsianWidth (W and F), simplified.
    static func width(of text: String) -> Int {
        if text.utf8.allSatisfy({ $0 < 0x80 }) { return text.utf8.count }
        return text.reduce(0) { $0 + width(of: $1) }
    }

    private static func width(of character: Character) -> Int {
        guard let scalar = character.unicodeScalars.first else { return 0 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        return wideRanges.contains { $0.contains(scalar.value) } ? 2 : 1
    }

    private static let wideRanges: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
        0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD,
    ]

    /// `text` with control characters as escapes, so that it stays on its line and cannot control a terminal.
    static func visible(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            default:
                if isControl(scalar) {
                    result += "\\u{" + String(scalar.value, radix: 16) + "}"
                } else {
                    result.unicodeScalars.append(scalar)
                }
            }
        }
        return result
    }

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.generalCategory == .control || scalar.value == 0x2028 || scalar.value == 0x2029
    }

    /// `text`, cut to `widthMax` columns with an ellipsis at its end.
    static func cut(_ text: String, to widthMax: Int) -> String {
        guard width(of: text) > widthMax else { return text }
        var (result, used) = ("", 0)
        for character in text {
            let next = used + width(of: character)
            guard next < widthMax else { break }
            result.append(character)
            used = next
        }
        return result + "…"
    }

    /// `1234567` as `1,234,567`.
    static func grouped(_ number: some BinaryInteger) -> String {
        let digits = String(number.magnitude)
        var result = ""
        for (index, digit) in digits.enumerated() {
            if index > 0, (digits.count - index).isMultiple(of: 3) { result.append(",") }
            result.append(digit)
        }
        return number < 0 ? "-" + result : result
    }

    /// A number of bytes in the largest unit that leaves a number of at least 1: `1.8 MiB`.
    static func bytes(_ count: some BinaryInteger) -> String {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
        var (value, unit) = (Double(count), 0)
        while value >= 1024, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
        return unit == 0 ? "\(grouped(count)) bytes" : "\(fixed(value, digits: 1)) \(units[unit])"
    }

    /// A duration: `812 µs`, `12.3 ms`, `2.41 s`.
    static func time(_ duration: Duration) -> String {
        let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) * 1e-18
        if seconds < 1e-3 { return "\(fixed(seconds * 1e6, digits: 0)) µs" }
        if seconds < 1 { return "\(fixed(seconds * 1e3, digits: 1)) ms" }
        return "\(fixed(seconds, digits: 2)) s"
    }

    /// `value` with exactly `digits` digits after the decimal point.
    static func fixed(_ value: Double, digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let scaled = (value * scale).rounded()
        guard scaled.magnitude < 9e15 else { return "\(value)" }
        let whole = Int64(scaled.magnitude)
        let sign = scaled < 0 ? "-" : ""
        guard digits > 0 else { return sign + String(whole) }
        let fraction = String(whole % Int64(scale))
        return "\(sign)\(whole / Int64(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}
