// The types and members of a file with the types around them, as the rules about folders read them.
//
// Not here: names within the bodies of functions, which no other file can use.

extension SourceFile {
    /// A pair of braces around a place in the code.
    struct Scope {
        /// The word that begins the declaration of a type, or `extension`; empty for other braces.
        fileprivate(set) var keyword = ""
        /// The name of the type, with the types that an extension writes before it; empty for other braces.
        fileprivate(set) var path: [String] = []
        /// Whether only this file can use what is declared here.
        fileprivate(set) var isPrivate = false

        /// The name of the type itself; `nil` for braces that are no type's.
        var type: String? { path.last }
    }

    /// A type that other files of the module can name.
    struct ModuleType {
        /// The type around it.
        let outer: String?
        let name: String
    }

    /// A member that an extension declares for the whole module.
    struct ExtensionMember {
        /// The extended type, without the types around it.
        let type: String
        let name: String
    }

    /// Calls `body` with the index of each word of code and the braces around it, the innermost last.
    ///
    /// - Complexity: O(tokens).
    func forEachWord(_ body: (Int, [Scope]) -> Void) {
        var (scopes, pending): ([Scope], Scope?) = ([], nil)
        for (index, token) in code.enumerated() {
            switch token.kind {
            case .mark where token.text == "{":
                scopes.append(pending ?? Scope())
                pending = nil
            case .mark where token.text == "}": _ = scopes.popLast()
            case .word:
                if let scope = typeScope(at: index), scope.keyword != "typealias" { pending = scope }
                body(index, scopes)
            default: break
            }
        }
    }

    /// The types that the file declares for its module, also those within other types, and the functions and properties
    /// that its extensions declare for the module.
    ///
    /// One walk finds both, because rules ask for them in every file.
    func moduleNames() -> (types: [ModuleType], members: [ExtensionMember]) {
        var (types, members): ([ModuleType], [ExtensionMember]) = ([], [])
        forEachWord { index, scopes in
            switch code[index].text {
            case "func", "var", "let":
                guard let scope = scopes.last, scope.keyword == "extension", let type = scope.type, !scope.isPrivate,
                    index + 1 < code.count, code[index + 1].kind != .mark, !isPrivate(declarationAt: index)
                else { return }
                members.append(ExtensionMember(type: type, name: code[index + 1].text))
            default:
                guard let scope = typeScope(at: index), scope.keyword != "extension", let name = scope.type,
                    !scope.isPrivate, scopes.allSatisfy({ !$0.path.isEmpty && !$0.isPrivate })
                else { return }
                types.append(ModuleType(outer: scopes.last?.type, name: name))
            }
        }
        return (types, members)
    }

    /// The names of the generic parameters of the file's types and functions.
    func genericParameters() -> Set<String> {
        let named: Set = ["func", "struct", "class", "enum", "actor", "typealias"]
        let unnamed: Set = ["init", "subscript"]
        var names: Set<String> = []
        for index in code.indices.dropFirst(2) where code[index].isCode("<") {
            let isNamed = named.contains(code[index - 2].text) && code[index - 1].kind != .mark
            guard isNamed || unnamed.contains(code[index - 1].text) else { continue }
            var depth = 0
            for next in index..<code.count - 1 {
                if code[next].isCode("<") { depth += 1 }
                if code[next].isCode(">"), !code[next - 1].isCode("-") { depth -= 1 }
                if depth == 0 { break }
                let begins = code[next].isCode("<") || code[next].isCode(",")
                if depth == 1, begins { names.insert(code[next + 1].text) }
            }
        }
        return names
    }

    /// The scope of the type or extension whose keyword is at `index`; `nil` if there is another word.
    private func typeScope(at index: Int) -> Scope? {
        switch code[index].text {
        case "struct", "class", "enum", "actor", "protocol", "extension", "typealias": break
        default: return nil
        }
        guard index + 1 < code.count, code[index + 1].kind == .word,
            code[index + 1].text.first?.isUppercase == true, index == 0 || !code[index - 1].isCode(".")
        else { return nil }
        var scope = Scope(
            keyword: code[index].text, path: [code[index + 1].text], isPrivate: isPrivate(declarationAt: index))
        guard scope.keyword == "extension" else { return scope }
        var next = index + 2
        while next + 1 < code.count, code[next].isCode("."), code[next + 1].kind == .word {
            scope.path.append(code[next + 1].text)
            next += 2
        }
        return scope
    }

    /// Whether `private` or `fileprivate` is on the line before the keyword at `index`.
    private func isPrivate(declarationAt index: Int) -> Bool {
        code[max(0, index - 4)..<index].contains {
            $0.line == code[index].line && ($0.text == "private" || $0.text == "fileprivate")
        }
    }
}
