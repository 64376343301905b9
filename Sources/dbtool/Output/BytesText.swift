// The output of bytes: as text if they are text, otherwise as hexadecimal digits, or as a dump.

/// Bytes for people.
enum BytesText {
    /// `"text"` if all bytes are printable UTF-8, otherwise hexadecimal digits; shows at most `byteCountMax` bytes.
    static func short(_ bytes: [UInt8], byteCountMax: Int = 32) -> String {
        let shown = bytes.prefix(byteCountMax)
        let rest = bytes.count > shown.count ? "… (\(DisplayText.grouped(bytes.count)) bytes)" : ""
        if let text = printable(bytes) {
            return bytes.count > shown.count
                ? "\"" + DisplayText.cut(text, to: byteCountMax) + "\" (\(DisplayText.grouped(bytes.count)) bytes)"
                : "\"\(text)\""
        }
        return hex(shown) + rest
    }

    private static func printable(_ bytes: [UInt8]) -> String? {
        guard !bytes.isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .unassigned, .privateUse, .surrogate, .lineSeparator, .paragraphSeparator: false
            default: scalar != "\""
            }
        }
        return isPlain ? text : nil
    }

    /// Two hexadecimal digits for each byte.
    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            text += byte < 16 ? "0" : ""
            text += String(byte, radix: 16)
        }
        return text
    }

    /// `number` with all hexadecimal digits of its type.
    static func hex(_ number: some FixedWidthInteger) -> String {
        let digits = String(number, radix: 16)
        return "0x" + String(repeating: "0", count: max(0, type(of: number).bitWidth / 4 - digits.count)) + digits
    }

    /// Lines of 16 bytes: offset, hexadecimal digits, ASCII.
    ///
    /// A run of lines equal to the one before is shown as `*`.
    static func dump(_ bytes: [UInt8]) -> String {
        var text = ""
        var last: ArraySlice<UInt8>?
        var isRepeating = false
        for start in stride(from: 0, to: bytes.count, by: 16) {
            let line = bytes[start...].prefix(16)
            if let last, last.elementsEqual(line), start + 16 < bytes.count {
                text += isRepeating ? "" : "*\n"
                isRepeating = true
                continue
            }
            (last, isRepeating) = (line, false)
            text += dumpLine(line, at: start)
        }
        return text
    }

    private static func dumpLine(_ line: ArraySlice<UInt8>, at offset: Int) -> String {
        var digits = ""
        for (index, byte) in line.enumerated() { digits += (index == 8 ? "  " : " ") + hex([byte]) }
        digits += String(repeating: " ", count: 49 - digits.count)
        let letters = line.map { (0x20..<0x7F).contains($0) ? Character(Unicode.Scalar($0)) : "." }
        return hex(UInt32(offset)).dropFirst(2) + " \(digits)  |\(String(letters))|\n"
    }
}
