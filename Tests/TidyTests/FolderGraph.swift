// The dependencies among the folders of one module, by the names in its code.
//
// A folder depends on another one if its code names a type that the other one declares. A type within another type
// counts where it is named with the other type before it, where the code is within that type, or where no other type of
// the module has its name. A folder calls another one if its code names a member that only the other one declares, and
// that in an extension of a type of a third folder: the type alone would not show the dependency.
//
// Not here: members that two folders declare, and dependencies by way of protocols.

/// The dependencies among the folders of a module.
struct FolderGraph {
    /// A place that makes one folder depend on another one.
    struct Use {
        let file: SourceFile
        let line: Int
        let name: String
    }

    /// Members that types of the standard library have too, so that their names show no folder.
    static let foreignMembers: Set = ["isNaN"]

    /// For each folder that names types of others: one use for each of the other folders.
    private(set) var types: [String: [String: Use]] = [:]
    /// For each folder that calls members that extensions in other folders declare: one use for each of these.
    private(set) var calls: [String: [String: Use]] = [:]
    /// All folders with a Swift file; files outside of all folders are in "".
    let folders: Set<String>

    init(_ files: [SourceFile]) {
        folders = Set(files.map(\.folder))
        let names = ModuleNames(files)
        for file in files {
            let parameters = file.genericParameters()
            file.forEachWord { index, scopes in
                let token = file.code[index]
                guard token.text.utf8.first.map({ (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }) == true else {
                    guard let folder = names.extensionFolder(ofMember: token.text), folder != file.folder,
                        index + 1 == file.code.count || !file.code[index + 1].isCode(":")
                    else { return }
                    Self.note(token, of: file, in: &calls[file.folder, default: [:]], [folder])
                    return
                }
                let isQualified = index > 0 && file.code[index - 1].isCode(".")
                if !isQualified && parameters.contains(token.text) { return }
                let qualifier = isQualified ? file.code[max(0, index - 2)].text : nil
                let places = names.folders(of: token.text, after: qualifier, within: scopes, in: file.folder)
                Self.note(token, of: file, in: &types[file.folder, default: [:]], places)
            }
        }
    }

    private static func note(
        _ token: Token, of file: SourceFile, in uses: inout [String: Use], _ folders: Set<String>
    ) {
        for folder in folders where folder != file.folder && uses[folder] == nil {
            uses[folder] = Use(file: file, line: token.line, name: token.text)
        }
    }

    /// Each folder that is part of a circle of types, with a name that makes it depend on the next one.
    ///
    /// Folders that use no other, or that no other uses, are removed until none is left to be removed.
    func circleFindings() -> [Finding] {
        var left = types
        while true {
            let used = Set(left.values.flatMap(\.keys))
            let next = left.filter { used.contains($0.key) }.compactMapValues { targets in
                let inCircle = targets.filter { left[$0.key] != nil }
                return inCircle.isEmpty ? nil : inCircle
            }
            if next.count == left.count, next.allSatisfy({ left[$0.key]?.count == $0.value.count }) { break }
            left = next
        }
        return left.flatMap { folder, targets in
            targets.map { target, use in
                use.file.finding(
                    use.line, "uses \(use.name) of \(Self.name(target)), which leads back to \(Self.name(folder))")
            }
        }.sorted { ($0.path, $0.message) < ($1.path, $1.message) }
    }

    /// Each call of a member that is declared in a folder whose types depend on the caller's.
    func callFindings() -> [Finding] {
        calls.flatMap { folder, targets in
            targets.filter { reaches(folder, from: $0.key) }.map { target, use in
                use.file.finding(
                    use.line, "calls \(use.name) of \(Self.name(target)), whose types need \(Self.name(folder))")
            }
        }.sorted { ($0.path, $0.message) < ($1.path, $1.message) }
    }

    private func reaches(_ folder: String, from start: String) -> Bool {
        var (seen, next): (Set<String>, [String]) = ([start], [start])
        while let current = next.popLast() {
            for target in (types[current] ?? [:]).keys where seen.insert(target).inserted { next.append(target) }
        }
        return seen.contains(folder)
    }

    /// A folder as findings call it.
    static func name(_ folder: String) -> String { folder.isEmpty ? "the files outside of all folders" : folder }
}

/// The folders that declare the names of a module.
private struct ModuleNames {
    /// A type within another one.
    private struct Place: Hashable {
        let outer: String
        let folder: String
    }

    /// The folders of types that are within no other type.
    private var outer: [String: Set<String>] = [:]
    /// The places of types within other types, by their own names.
    private var inner: [String: Set<Place>] = [:]
    /// The names of all types that a folder declares, private ones too.
    private var own: [String: Set<String>] = [:]
    /// For each member of an extension: the folder of the extension, if no other folder declares its name.
    private var members: [String: String] = [:]

    init(_ files: [SourceFile]) {
        var declaring: [String: Set<String>] = [:]
        var found: [(member: SourceFile.ExtensionMember, folder: String)] = []
        for file in files {
            let names = file.moduleNames()
            found += names.members.map { (member: $0, folder: file.folder) }
            for type in names.types {
                if let around = type.outer {
                    inner[type.name, default: []].insert(Place(outer: around, folder: file.folder))
                } else {
                    outer[type.name, default: []].insert(file.folder)
                }
            }
            own[file.folder, default: []].formUnion(file.typeDeclarations().map(\.name))
            for declaration in file.declarations() { declaring[declaration.name, default: []].insert(file.folder) }
        }
        for (member, folder) in found where declaring[member.name]?.count == 1 {
            if FolderGraph.foreignMembers.contains(member.name) { continue }
            let homes = (outer[member.type] ?? []).union((inner[member.type] ?? []).map(\.folder))
            if homes.count == 1, !homes.contains(folder) { members[member.name] = folder }
        }
    }

    func extensionFolder(ofMember name: String) -> String? { members[name] }

    /// The folders whose type a name in `folder` denotes; empty for a name of the folder itself, or of no type.
    func folders(
        of name: String, after qualifier: String?, within scopes: [SourceFile.Scope], in folder: String
    ) -> Set<String> {
        let places = inner[name] ?? []
        if let qualifier { return Set(places.filter { $0.outer == qualifier }.map(\.folder)) }
        guard own[folder]?.contains(name) != true else { return [] }
        let around = Set(places.filter { place in scopes.contains { $0.path.contains(place.outer) } }.map(\.folder))
        if !around.isEmpty { return around }
        if let outer = outer[name] { return outer }
        return places.count == 1 ? Set(places.map(\.folder)) : []
    }
}
