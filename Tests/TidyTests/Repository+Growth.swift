// The rule that each public operation of the object layer has a line in the benchmark of growth, or a reason for none.
//
// Invariants
//   1. An operation is found by its name, without its labels: overloads are one operation.
//   2. A reason for an operation that does not exist, or that is measured, is a finding, too.
// Not here: names that begin with `_`, which only macros use; operators; properties and subscripts.

extension Repository {
    /// The reasons for operations without a line, as a table: each name in backticks, and the reason.
    static let unmeasuredPath = "Benchmarks/Unmeasured.md"

    /// The public functions and the types with public initializers of the module `Espalier` that no case of the
    /// benchmark of growth names and no line of `unmeasured` excuses, and the lines that excuse nothing.
    func growthFindings(unmeasured: String) -> [Finding] {
        let cases = swiftFiles.filter { $0.path.hasPrefix("Benchmarks/Sources/bench/Growth") }
        let measured = Set(cases.flatMap { $0.code.lazy.filter { $0.kind != .mark }.map(\.text) })
        let reasons = Self.reasons(in: unmeasured)
        let excused = Set(reasons.filter { !$0.reason.isEmpty }.map(\.name))
        var (known, findings): (Set<String>, [Finding]) = ([], [])
        for file in swiftFiles where file.path.hasPrefix("Sources/Espalier/") {
            for operation in file.publicOperations() {
                let isNew = known.insert(operation.name).inserted
                guard isNew, !measured.contains(operation.name), !excused.contains(operation.name) else { continue }
                findings.append(
                    file.finding(
                        operation.line,
                        "no case of `bench --growth` names \(operation.name): add one, or a reason in "
                            + Self.unmeasuredPath))
            }
        }
        for reason in reasons
        where reason.reason.isEmpty || !known.contains(reason.name) || measured.contains(reason.name) {
            findings.append(
                Finding(
                    Self.unmeasuredPath, reason.line,
                    "\(reason.name) is measured, is no public operation, or has no reason: remove it, or write one"
                ))
        }
        return findings
    }

    private static func reasons(in text: String) -> [(name: String, reason: String, line: Int)] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
            index, line -> (name: String, reason: String, line: Int)? in
            guard line.hasPrefix("| `") else { return nil }
            let cells = line.split(separator: "|").map { cell in cell.split(separator: " ").joined(separator: " ") }
            return (cells[0].filter { $0 != "`" }, cells.count > 1 ? cells[1] : "", index + 1)
        }
    }
}

extension SourceFile {
    private static let typeKeywords: Set = ["class", "struct", "enum", "actor", "protocol", "extension"]
    private static let modifiers: Set = [
        "static", "final", "mutating", "nonmutating", "consuming", "borrowing", "nonisolated", "nonsending",
        "convenience", "required", "override", "class", "prefix", "(", ")",
    ]

    /// The public functions, and the type of each public initializer by its name.
    func publicOperations() -> [Declaration] {
        var (types, next): ([(name: String, depth: Int)], String?) = ([], nil)
        var (depth, operations): (Int, [Declaration]) = (0, [])
        for index in code.indices {
            let token = code[index]
            switch token.text {
            case "{" where token.kind == .mark:
                depth += 1
                if let name = next { types.append((name, depth)) }
                next = nil
            case "}" where token.kind == .mark:
                if types.last?.depth == depth { types.removeLast() }
                depth -= 1
            case "public":
                if let found = operation(after: index, in: types.last?.name) { operations.append(found) }
            case let keyword where Self.typeKeywords.contains(keyword):
                if let name = typeName(after: index) { next = name }
            default: break
            }
        }
        return operations
    }

    /// The function or initializer whose modifiers begin with the token at `index`, in a type.
    private func operation(after index: Int, in type: String?) -> Declaration? {
        let rest = code[(index + 1)...].drop { Self.modifiers.contains($0.text) }
        guard let keyword = rest.first else { return nil }
        if keyword.isCode("init"), let type, !type.hasPrefix("_") { return Declaration(name: type, line: keyword.line) }
        guard keyword.isCode("func"), let name = rest.dropFirst().first, name.kind != .mark, !name.text.hasPrefix("_")
        else { return nil }
        return Declaration(name: name.text, line: name.line)
    }

    /// The last part of the name of the type whose keyword is at `index`; `nil` if no type begins there.
    private func typeName(after index: Int) -> String? {
        if index > 0, code[index - 1].isCode(".") { return nil }
        var position = index + 1
        guard position < code.count, code[position].kind != .mark,
            !["func", "var", "let"].contains(code[position].text)
        else { return nil }
        while position + 2 < code.count, code[position + 1].isCode("."), code[position + 2].kind != .mark {
            position += 2
        }
        return code[position].text
    }
}
