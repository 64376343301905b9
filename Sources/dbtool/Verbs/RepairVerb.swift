// `dbtool repair`: restores the superblock from its copy, or the copy from the superblock; other damage cannot be
// repaired in place.

import EspalierEngine

/// The verb `repair`.
enum RepairVerb: Verb {
    static let usage = Usage(
        name: "repair", summary: "restore a damaged superblock from its copy, or the copy from the superblock",
        parameters: [.required("FILE", "the store; no process may have it open for writing")], options: [.json],
        discussion: """
            A store whose superblock is damaged can be read with the copy, but must be repaired before it is written.
            Damage in other pages cannot be repaired in place: see 'dbtool help salvage'.
            Exit code 0: the superblock and its copy were intact, or are repaired now.
            """,
        examples: [
            .init(
                command: "dbtool repair broken.espalier",
                meaning: "repairs the superblock; 'dbtool check' then shows other damage")
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let path = arguments.required("FILE")
        let isRepaired = try withPath(path) { () throws(StorageError) in try Database.repair(path) }
        if arguments.wantsJSON {
            console.print(["file": .string(path), "repaired": .boolean(isRepaired)])
        } else {
            console.print("\(path): \(isRepaired ? "repaired" : "the superblock and its copy are intact")")
        }
        return .ok
    }
}
