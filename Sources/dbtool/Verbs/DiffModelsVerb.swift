// `dbtool diff-models`: shows the differences of two models, and the cost and the loss of data of each change.

import EspalierModel

/// The verb `diff-models`.
enum DiffModelsVerb: Verb {
    static let usage = Usage(
        name: "diff-models", summary: "show how two models differ, and the cost and losses of a migration",
        parameters: [
            .required("OLD", "a store or a model file (.xcdatamodeld, .xcdatamodel, .momd, .mom)"),
            .required("NEW", "a store or a model file"),
        ],
        options: [.json],
        discussion: """
            Entities and properties are matched by their names and renaming identifiers, also across a hierarchy.
            Two model files are compared as a whole. A store keeps no validation rules, actions of constraints,
            fetched properties, requests, configurations, class names, hash modifiers and texts: with a store on one
            side they are not compared.
            Exit code 0: the models are equal; 1: they differ.
            """,
        examples: [
            .init(
                command: "dbtool diff-models music.espalier Music.xcdatamodeld",
                meaning: "shows the changes that opening the store with the model would make"),
            .init(
                command: "dbtool diff-models old.espalier new.espalier --json",
                meaning: "compares the models of two stores, for a program"),
        ])

    static func run(_ arguments: Arguments, _ console: Console) throws(ToolError) -> ExitCode {
        let old = try ModelSource(arguments.required("OLD"), console)
        let new = try ModelSource(arguments.required("NEW"), console)
        let scope: ModelDifference.Scope = old.isStore || new.isStore ? .stored : .whole
        let difference = ModelDifference(from: old.model, to: new.model, comparing: scope)
        if arguments.wantsJSON {
            console.print(
                [
                    "old": .string(old.path), "new": .string(new.path), "same": .boolean(difference.isEmpty),
                    "constantTime": .boolean(difference.isConstantTime),
                    "losses": .array(difference.losses.map { .string($0.description) }),
                    "changes": .array(difference.changes.map(\.json)),
                ] as JSONValue)
        } else {
            show(difference, isPartial: old.isStore != new.isStore, console)
        }
        return difference.isEmpty ? .ok : .difference
    }

    private static func show(_ difference: ModelDifference, isPartial: Bool, _ console: Console) {
        guard !difference.isEmpty else {
            return console.print("the models are equal" + (isPartial ? " in everything that a store keeps" : ""))
        }
        var table = TextTable([.text("where"), .text("what"), .text("cost"), .text("loss")])
        for change in difference.changes {
            let cost = change.rows.isEmpty ? "constant" : "\(change.cost) of \(change.rows.joined(separator: ", "))"
            table.append([change.subject, change.kind.description, cost, change.loss?.description ?? ""])
        }
        console.output.write(table.rendered())
    }
}
