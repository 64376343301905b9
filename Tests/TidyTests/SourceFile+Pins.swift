// Rules about pins of pages: the bytes of a page may be read only as long as it is pinned.

extension SourceFile {
    /// No `pin(…).view`: the pin ends with the expression, and another page may get the frame while the view is read.
    ///
    /// The same holds for every function whose name begins with `pin`, and for calls with a closure after them.
    func pinFindings() -> [Finding] {
        code.indices.compactMap { index in
            let token = code[index]
            guard token.kind == .word, token.text.hasPrefix("pin"), index + 1 < code.count, code[index + 1].isCode("("),
                var end = closingIndex(of: index + 1)
            else { return nil }
            if end + 1 < code.count, code[end + 1].isCode("{"), let closureEnd = closingIndex(of: end + 1) {
                end = closureEnd
            }
            guard end + 2 < code.count, code[end + 1].isCode("."), code[end + 2].isCode("view") else { return nil }
            return finding(
                token.line,
                "\(token.text)(…).view: the pin ends here; write 'let pin = …' and use 'pin.view' while it lives")
        }
    }

    /// The index in `code` of the mark that closes the parenthesis or brace at `start`; `nil` if there is none.
    private func closingIndex(of start: Int) -> Int? {
        var depth = 0
        for index in start..<code.count where code[index].kind == .mark {
            switch code[index].text {
            case "(", "{", "[": depth += 1
            case ")", "}", "]": depth -= 1
            default: break
            }
            if depth == 0 { return index }
        }
        return nil
    }
}
