// The map of a store's pages for people and for programs.

import EspalierEngine
import Foundation

extension PageUses {
    private static let pagesPerLine = 64
    /// The number of equal lines from which on only the first is printed.
    private static let foldedLines: UInt64 = 16
    private static let mapLengthMax: UInt64 = 1 << 24

    private var map: String {
        var map = ""
        for run in runs where run.first < Self.mapLengthMax {
            map += String(repeating: run.use.rawValue, count: Int(min(run.count, Self.mapLengthMax - run.first)))
        }
        return map
    }

    /// Prints the map, the legend and the table of trees.
    func print(to console: Console) {
        for problem in image.page0.problems { console.print("\(image.path): \(problem.text)") }
        if image.hasNewerLog {
            console.print(
                "The log beside the store may have newer pages; the map shows the state of the last checkpoint.\n")
        }
        printLines(to: console)
        var legend = TextTable([.text("mark"), .number("pages"), .text("meaning")])
        for use in Use.allCases {
            let count = runs.reduce(UInt64(0)) { $0 + ($1.use == use ? $1.count : 0) }
            if count > 0 { legend.append([String(use.rawValue), DisplayText.grouped(count), use.words]) }
        }
        console.output.write("\n" + legend.rendered() + "\n")
        var table = TextTable([
            .text("tree"), .number("id"), .number("leaves"), .number("interior"), .number("overflow"),
            .number("leaves full"),
        ])
        for (id, pages) in trees.sorted(by: { $0.key < $1.key }) {
            table.append([
                names[id] ?? "", "\(id)", DisplayText.grouped(pages.leaves), DisplayText.grouped(pages.interior),
                DisplayText.grouped(pages.overflow), fillText(pages),
            ])
        }
        console.output.write(table.rendered())
    }

    /// Prints the lines of the map; of a run of many lines, the first one and "*".
    private func printLines(to console: Console) {
        var line = ""
        var start: UInt64 = 0
        let length = UInt64(Self.pagesPerLine)
        let print = { (text: String) in
            let label = String(start)
            console.print(String(repeating: " ", count: max(0, 8 - label.count)) + label + "  " + text)
        }
        for run in runs {
            var left = run.count
            while left > 0 {
                if line.isEmpty, left >= Self.foldedLines * length {
                    print(String(repeating: run.use.rawValue, count: Self.pagesPerLine))
                    console.print("       *")
                    start += left / length * length
                    left %= length
                    continue
                }
                let taken = min(left, length - UInt64(line.count))
                line += String(repeating: run.use.rawValue, count: Int(taken))
                left -= taken
                guard line.count == Self.pagesPerLine else { continue }
                print(line)
                start += length
                line = ""
            }
        }
        if !line.isEmpty { print(line) }
    }

    private func fillText(_ pages: TreePages) -> String {
        guard pages.leaves > 0 else { return "" }
        let fill = Double(pages.leafBytesUsed) / Double(pages.leaves * image.pageSize)
        return DisplayText.fixed(fill * 100, digits: 0) + " %"
    }

    /// The map for programs.
    var json: JSONValue {
        [
            "file": .string(image.path), "pageSize": .count(image.pageSize), "pages": .count(image.pageCount),
            "intact": .boolean(isIntact), "newerLog": .boolean(image.hasNewerLog),
            "map": .string(map),
            "legend": .object(Use.allCases.map { (name: String($0.rawValue), value: .string($0.words)) }),
            "trees": .array(
                trees.sorted { $0.key < $1.key }.map { id, pages in
                    [
                        "id": .count(id), "name": .optional(names[id]), "leaves": .count(pages.leaves),
                        "interior": .count(pages.interior), "overflow": .count(pages.overflow),
                        "leafBytesUsed": .count(pages.leafBytesUsed),
                    ]
                }),
        ]
    }
}
