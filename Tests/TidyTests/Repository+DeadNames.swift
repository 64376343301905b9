// The rule that every declaration is used: a name that occurs once in all of the code is dead.
//
// Not here: the names that the compiler or the standard library calls (`calledByOthers`), which our code need not
// mention.

extension Repository {
    /// Witnesses of foreign protocols and entry points, which no code of ours names.
    static let calledByOthers: Set = [
        "main", "createBuildCommands", "EspalierClasses",
        "expansion", "resolveMacro", "hash", "description", "debugDescription", "callAsFunction",
        "customMirror",
        "makeIterator", "encode", "errorDescription", "localizedDescription", "unownedExecutor", "enqueue",
        "subscript", "dynamicMember", "stringInterpolation", "diagnosticID", "fixItID", "severity",
        "appendInterpolation",
    ]

    /// Every name that product code declares and that no other code, tests included, mentions.
    func deadNameFindings() -> [Finding] {
        var uses: [String: Int] = [:]
        for file in swiftFiles {
            for token in file.code where token.kind != .mark { uses[token.text, default: 0] += 1 }
        }
        return swiftFiles.filter(\.isProduct).flatMap { file in
            file.declarations().compactMap { declaration in
                guard uses[declaration.name] == 1, !Self.calledByOthers.contains(declaration.name) else { return nil }
                return file.finding(
                    declaration.line, "\(declaration.name) is declared and never used: test it or remove it")
            }
        }
    }
}

extension SourceFile {
    /// One name that the file declares.
    struct Declaration: Equatable {
        let name: String
        let line: Int
    }

    /// Every name after `func`, `var`, `let`, `struct`, `class`, `enum`, `actor`, `protocol` and `typealias`, and the
    /// first name of every `case` that begins a line.
    func declarations() -> [Declaration] {
        let keywords: Set = ["func", "var", "let", "struct", "class", "enum", "actor", "protocol", "typealias"]
        return code.indices.dropLast().compactMap { index in
            let (keyword, name) = (code[index], code[index + 1])
            guard keyword.kind == .word, name.kind != .mark, name.text != "_" else { return nil }
            if index > 0, code[index - 1].isCode(".") { return nil }
            let isCase = keyword.text == "case" && keyword.startsLine && name.line == keyword.line
            return keywords.contains(keyword.text) || isCase ? Declaration(name: name.text, line: name.line) : nil
        }
    }
}
