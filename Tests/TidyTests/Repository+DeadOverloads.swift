// The rule that every overload is used: a name that is used may have a declaration that no call fits.
//
// Overloads are told apart by the labels of their parameters, not by types: of declarations with the same labels, all
// count as used if one of them does. A name without a call after it counts as a use of all its overloads.
//
// Not here: initializers, whose calls often do not name the type, and subscripts.

extension Repository {
    /// Each function of product code that shares its name with others and whose labels no call has.
    ///
    /// Left out are names with an underscore at the beginning, which macros write, and those that others call.
    func deadOverloadFindings() -> [Finding] {
        var overloads: [String: [Overload]] = [:]
        for file in swiftFiles where file.isProduct {
            for overload in file.overloads() { overloads[overload.name, default: []].append(overload) }
        }
        overloads = overloads.filter { name, declared in
            !name.hasPrefix("_") && !Self.calledByOthers.contains(name) && Set(declared.map(\.labels)).count > 1
        }
        for file in swiftFiles { file.markUsed(&overloads) }
        return overloads.values.flatMap { declared -> [Finding] in
            let used = Set(declared.lazy.filter(\.isUsed).map(\.labels))
            return declared.filter { !used.contains($0.labels) }.map { overload in
                let labels = overload.labels.map { "\($0):" }.joined()
                return Finding(
                    overload.path, overload.line, "no call fits \(overload.name)(\(labels)): test it or remove it")
            }
        }.sorted { ($0.path, $0.line) < ($1.path, $1.line) }
    }
}

/// A function, as calls of it look.
private struct Overload {
    let name: String
    let path: String
    let line: Int
    /// The argument labels; "_" for an argument without one.
    let labels: [String]
    /// For each parameter whether a call may leave it out.
    let hasDefault: [Bool]
    var isUsed = false

    /// Whether a call with `arguments` may be one of this function: closures after the call stand for any parameters.
    func fits(_ arguments: [String], hasClosure: Bool) -> Bool {
        fits(arguments[...], from: 0, hasClosure)
    }

    private func fits(_ arguments: ArraySlice<String>, from parameter: Int, _ hasClosure: Bool) -> Bool {
        guard let argument = arguments.first else {
            return hasClosure || hasDefault[parameter...].allSatisfy { $0 }
        }
        // Further values of a variadic parameter have no label.
        if argument == "_", parameter > 0, fits(arguments.dropFirst(), from: parameter, hasClosure) { return true }
        guard parameter < labels.count else { return false }
        if labels[parameter] == argument, fits(arguments.dropFirst(), from: parameter + 1, hasClosure) { return true }
        return hasDefault[parameter] && fits(arguments, from: parameter + 1, hasClosure)
    }
}

extension SourceFile {
    /// The functions that the file declares.
    fileprivate func overloads() -> [Overload] {
        code.indices.dropLast(2).compactMap { index in
            guard code[index].isCode("func"), code[index + 1].kind != .mark,
                let open = parameterStart(after: index + 1)
            else { return nil }
            var (labels, defaults): ([String], [Bool]) = ([], [])
            forEachPart(from: open, in: code, withTypes: true) { part in
                let name = part.first { code[$0].kind != .mark && !(code[$0 - 1].isCode("@")) }
                labels.append(name.map { code[$0].text } ?? "_")
                defaults.append(part.contains { code[$0].isCode("=") && !code[$0 + 1].isCode("=") })
            }
            return Overload(
                name: code[index + 1].text, path: path, line: code[index].line, labels: labels, hasDefault: defaults)
        }
    }

    /// The parenthesis after the name of a function at `index`, and after its generic parameters.
    private func parameterStart(after index: Int) -> Int? {
        var depth = 0
        for next in (index + 1)..<code.count {
            if code[next].isCode("<") { depth += 1 }
            if code[next].isCode(">"), !code[next - 1].isCode("-") { depth -= 1 }
            if depth == 0, code[next].isCode("(") { return next }
            if depth == 0, !code[next].isCode(">") { return nil }
        }
        return nil
    }

    /// Marks the overloads that the file's calls fit.
    fileprivate func markUsed(_ overloads: inout [String: [Overload]]) {
        // With strings, since one may be the only argument.
        let tokens = tokens.filter { $0.kind != .comment }
        for (index, token) in tokens.enumerated() where token.kind == .word || token.kind == .rawIdentifier {
            guard let declared = overloads[token.text], declared.contains(where: { !$0.isUsed }),
                index == 0 || !tokens[index - 1].isCode("func")
            else { continue }
            var (arguments, hasClosure, isReference): ([String], Bool, Bool) = ([], false, true)
            var next = index + 1
            if next < tokens.count, tokens[next].isCode("("), !tokens[next].followsSpace {
                isReference = false
                next = forEachPart(from: next, in: tokens, withTypes: false) { part in
                    let isLabelled = part.count > 1 && tokens[part.lowerBound + 1].isCode(":")
                    let isWord = tokens[part.lowerBound].kind == .word || tokens[part.lowerBound].kind == .rawIdentifier
                    arguments.append(isLabelled && isWord ? tokens[part.lowerBound].text : "_")
                    // `name(label:)` names the function without calling it.
                    if tokens[part.upperBound - 1].isCode(":") { isReference = true }
                }
            }
            if next < tokens.count, tokens[next].isCode("{") { (hasClosure, isReference) = (true, false) }
            overloads[token.text] = declared.map { overload in
                var overload = overload
                if isReference || overload.fits(arguments, hasClosure: hasClosure) { overload.isUsed = true }
                return overload
            }
        }
    }

    /// Calls `body` with each part between commas of the parentheses at `open`, without the commas.
    ///
    /// In declarations commas between `<` and `>` separate types.
    ///
    /// - Returns: the index after the parentheses.
    @discardableResult
    private func forEachPart(
        from open: Int, in tokens: [Token], withTypes: Bool, _ body: (Range<Int>) -> Void
    ) -> Int {
        var (depth, angles, start) = (0, 0, open + 1)
        for index in open..<tokens.count where tokens[index].kind == .mark {
            switch tokens[index].text {
            case "(", "[", "{": depth += 1
            case ")", "]", "}": depth -= 1
            case "<" where withTypes && !tokens[index].followsSpace && !tokens[index - 1].isCode("<"): angles += 1
            case ">" where angles > 0 && !tokens[index - 1].isCode("-"): angles -= 1
            case "," where depth == 1 && angles == 0:
                if start < index { body(start..<index) }
                start = index + 1
            default: break
            }
            if depth == 0 {
                if start < index { body(start..<index) }
                return index + 1
            }
        }
        return tokens.count
    }
}
