// Rules about words: calls that trap, notes of unfinished work, names without meaning, messages of assertions, paths of
// one machine.

extension SourceFile {
    /// Words that no type and no file may have in its name, because they carry no meaning.
    static let emptyNameParts: Set = ["Manager", "Helper", "Helpers", "Util", "Utils", "Utility", "Utilities", "Impl"]
    /// Words that mark unfinished work.
    static let unfinishedMarks: Set<Substring> = ["TODO", "FIXME", "XXX", "HACK"]
    /// Folders that exist on one machine only.
    static let machineFolders = ["work", "root", "home", "Users", "opt", "tmp"]

    /// The targets whose output is read by people or by a build.
    static let programs: Set = ["dbtool", "EspalierClassWriter"]

    /// The one file that may stop the program, where a property getter cannot throw and `nil` would hide the error.
    static let stoppingFile = "Sources/Espalier/Graph/EndedContext.swift"

    /// No `fatalError`, `try!`, `as!`; in product code other than programs also no `print`.
    func trapFindings() -> [Finding] {
        zip(code, code.dropFirst()).compactMap { token, next in
            guard token.kind == .word else { return nil }
            switch (token.text, next.text) {
            case ("fatalError", "(") where path != Self.stoppingFile:
                return finding(token.line, "\(token.text): throw a typed error, or make the case impossible")
            case ("try", "!") where !next.followsSpace, ("as", "!"):
                return finding(token.line, "\(token.text)!: throw or return instead")
            case ("print", "(") where isProduct && !Self.programs.contains(target):
                return finding(token.line, "print: a library writes nothing to standard output")
            default: return nil
            }
        }
    }

    /// No note of unfinished work.
    func unfinishedFindings() -> [Finding] {
        tokens.compactMap { token in
            guard token.kind == .comment else { return nil }
            return token.text.split { !$0.isLetter }.first(where: Self.unfinishedMarks.contains).map {
                finding(token.line, "\($0): finish it, or say in the issue what is open")
            }
        }
    }

    /// One type that the file declares.
    struct TypeDeclaration: Equatable {
        let name: String
        let line: Int
    }

    /// Every `struct`, `class`, `enum`, `actor`, `protocol`, `typealias` and `associatedtype`.
    func typeDeclarations() -> [TypeDeclaration] {
        let keywords: Set = ["struct", "class", "enum", "actor", "protocol", "typealias", "associatedtype"]
        return zip(code, code.dropFirst()).compactMap { keyword, name in
            guard keyword.kind == .word, keywords.contains(keyword.text), name.kind != .mark else { return nil }
            return name.text.first?.isUppercase == true ? TypeDeclaration(name: name.text, line: name.line) : nil
        }
    }

    /// No type and no file has a word of `emptyNameParts` in its name.
    func nameFindings() -> [Finding] {
        let names = [TypeDeclaration(name: stem, line: 0)] + typeDeclarations()
        return names.compactMap { type in
            Self.words(of: type.name).first(where: Self.emptyNameParts.contains).map {
                finding(type.line, "'\($0)' in the name \(type.name) says nothing: name what it does")
            }
        }
    }

    /// The words of a camel-case name: `PageCache+Check` has Page, Cache and Check.
    static func words(of name: String) -> [String] {
        var words: [String] = []
        for character in name {
            if !character.isLetter || character.isUppercase || words.isEmpty { words.append("") }
            if character.isLetter { words[words.count - 1].append(character) }
        }
        return words.filter { !$0.isEmpty }
    }

    /// The calls whose last text is a message for the developer who broke a rule.
    static let assertions: Set = ["assert", "precondition", "assertionFailure", "preconditionFailure"]
    /// Words of a sentence that states a rule.
    static let ruleWords: Set<Substring> = ["must", "should", "shall", "always", "every", "each", "once"]

    /// The message of an assertion says what is wrong, because it is read after the rule was broken.
    func assertionMessageFindings() -> [Finding] {
        guard isProduct else { return [] }
        return tokens.indices.compactMap { start in
            guard tokens[start].kind == .word, Self.assertions.contains(tokens[start].text),
                tokens.dropFirst(start + 1).first?.isCode("(") == true,
                let message = lastString(ofCallAt: start),
                let word = message.text.split(whereSeparator: { !$0.isLetter }).first(where: Self.ruleWords.contains)
            else { return nil }
            return finding(message.line, "'\(word)' states the rule in the message of an assertion: say what is wrong")
        }
    }

    /// The last text among the arguments of a call whose name is the token at `start`.
    private func lastString(ofCallAt start: Int) -> Token? {
        var (depth, last): (Int, Token?) = (0, nil)
        for token in tokens[(start + 1)...] {
            if token.isCode("(") { depth += 1 }
            if token.isCode(")") { depth -= 1 }
            // Code in an interpolation is deeper than the text around it.
            if depth == 1, token.kind == .string { last = token }
            if depth == 0 { break }
        }
        return last
    }

    /// No string and no comment names a folder of one machine.
    func machinePathFindings() -> [Finding] {
        tokens.compactMap { token in
            guard token.kind == .string || token.kind == .comment else { return nil }
            return Self.machinePath(in: token.text).map {
                finding(token.line, "'\($0)' exists on one machine only: find the place at run time")
            }
        }
    }

    /// The first absolute path in `text` that begins with a folder of one machine.
    static func machinePath(in text: String) -> String? {
        guard text.utf8.contains(UInt8(ascii: "/")) else { return nil }
        for folder in machineFolders {
            guard let range = text.firstRange(of: "/\(folder)/") else { continue }
            guard let before = text[..<range.lowerBound].last else { return String(text[range]) }
            if !before.isLetter && !before.isNumber && !".)}_-~*".contains(before) { return String(text[range]) }
        }
        return nil
    }
}
