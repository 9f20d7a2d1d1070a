"""Write the price lists of this folder: `python tests/reading/lists/write_lists.py [NAME...]`, with LibreOffice.

What each is to be read as stands in lists.yaml, written by hand.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.utils.datetime import CALENDAR_MAC_1904

HERE = Path(__file__).parent
Row = tuple[Any, ...]
QUOTE: list[Row] = [
    ("Acme Networks Ltd.",),
    ("Price list October 2026, all prices in USD",),
    (),
    ("Line", "Mfr", "P/N", "Description", "List price", "Disc. %", "Net price", "Lead time"),
    (1, "NVIDIA", "MQM9700-NS2F", "Quantum-2 switch", 30000, 15, 25500, "6-8 weeks"),
    (2, "NVIDIA", "MMA4Z00-NS", "Twin-port OSFP", 1034.5, 15, 879.33, "45 days"),
    ("Cables",),
    (3, "NVIDIA", "MFP7E10-N030", "Fibre, 30 m", 140, 15, None, "in stock"),
    (4, "NVIDIA", "980-9I51S-00NS00", "OSFP", 700, 15, 595, None),
    (5, "Acme", "ACME-RAIL", "Rails", "on request", None, None, None),
    (None, None, None, "Subtotal", 31874.5, None, 27093.33),
    ("Prices are without tax.",),
]
MERGED: list[Row] = [
    ("Offer 4711",),
    ("Mfr", "Part number", "Price (EUR)", None, None, "Delivery"),
    (None, None, "List", "Disc. %", "Net", None),
    ("NVIDIA", "MQM9700-NS2F", 30000, 10, 27000, "8 weeks"),
    (None, "MMA4Z00-NS", 1000, 10, 900, None),
    ("Arista", "DCS-7060X6-64PE-F", 60000, 50, 30000, "10 working days"),
]
CHINESE: list[Row] = [
    ("某某科技有限公司报价单",),
    ("序号", "厂商", "型号", "描述", "数量", "单价（元）", "折扣", "金额"),
    (1, "NVIDIA", "MQM9700-NS2F", "交换机", 2, 200000, 0.85, 340000),
    (2, "NVIDIA", "MMA4Z00-NS", "光模块", 10, 7000, 0.9, 63000),
    ("小计", None, None, None, 12, None, None, 403000),
    ("备注：报价有效期30天",),
]


TABLES: list[Row] = [
    ("Acme price list, valid until 31 Dec 2026",),
    ("Switches",),
    ("Part", "Description", "Unit price USD"),
    ("MQM9700-NS2F", "Quantum-2 switch", 25000),
    ("Page 1 of 2",),
    ("Part", "Description", "Unit price USD"),
    ("MQM9790-NS2F", "Quantum-2 switch, unmanaged", 23000),
    ("Optics",),
    ("Description", "SKU", "Qty", "Net USD"),
    ("Twin-port OSFP", "MMA4Z00-NS", 64, 879),
    ("OSFP", "MMA4Z00-NS400", 64, 650),
]
HIDDEN: list[Row] = [
    ("Part", "Description", "List USD", "Net USD"),
    ("Switches",),
    ("MQM9700-NS2F", "Switch", 30000, 20000),
    ("Optics",),
    ("MMA4Z00-NS", "OSFP", 1000, 600),
]
CHINESE_UNITS: list[Row] = [
    ("某某科技有限公司 报价单", None, None, None, None, "报价日期：2026年10月8日"),
    ("单位：万元",),
    ("序号", "设备名称", "规格型号", "单位", "数量", "未税单价", "含税单价", "含税金额", "交货期"),
    (1, "交换机", "MQM9700-NS2F", "台", 2, 18, 20.34, 40.68, "6周"),
    (2, "光模块", "MMA4Z00-NS", "只", 64, 0.68, 0.7684, 49.1776, "现货"),
    (3, "光纤", "MFP7E10-N030", "箱", 4, 0.5, 0.565, 2.26, None),
    (4, "服务器", "DGX-H100", "台", 4, "询价", "询价", None, None),
    ("合计", None, None, None, None, None, None, 92.1176),
    ("合计（大写）：人民币玖拾贰万壹仟壹佰柒拾陆元整",),
    ("备注：报价有效期30天",),
]


DIVIDED: list[Row] = [
    ("All prices in US dollars, excl. VAT",),
    ("Item", "Manufacturer", "Part No.", "Product description", "Pricing", None, "Lead time"),
    (None, None, None, None, "List price", "Partner price"),
    ("Switches",),
    (1, "NVIDIA", "MQM9700-NS2F", "Quantum-2 switch", 32500, 26650, "8-10 weeks"),
    (2, "NVIDIA", "MMA4Z00-NS", "Twin-port OSFP", 1450, 1087.5, "in stock"),
]


def hidden() -> Workbook:
    """A list with a hidden column of what a partner pays, and groups of rows that are folded."""
    made = book(HIDDEN)
    made.active.column_dimensions["D"].hidden = True
    made.active.row_dimensions.group(3, 3, hidden=True)
    return made


def book(rows: list[Row], title: str = "List", merged: str = "") -> Workbook:
    """A workbook of one sheet."""
    made = Workbook()
    fill(made.active, rows, title, merged)
    return made


def fill(sheet: Any, rows: list[Row], title: str, merged: str = "") -> None:
    """Write rows to a sheet, and merge areas."""
    sheet.title = title
    for line, row in enumerate(rows, 1):
        for column, value in enumerate(row, 1):
            if value is not None:
                sheet.cell(line, column, value)
    for area in merged.split():
        sheet.merge_cells(area)


def saved(made: Workbook) -> bytes:
    """The bytes of a workbook."""
    stream = io.BytesIO()
    made.save(stream)
    return stream.getvalue()


def converted(made: Workbook, kind: str) -> bytes:
    """A workbook as LibreOffice saves it in a format; formulas have values then."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in.xlsx").write_bytes(saved(made))
        profile = f"-env:UserInstallation={(folder / 'profile').as_uri()}"
        command = ["soffice", profile, "--headless", "--convert-to", kind, "--outdir", str(folder / "out"), "in.xlsx"]
        subprocess.run(command, check=True, capture_output=True, cwd=folder)
        return (folder / "out" / f"in.{kind}").read_bytes()


def text(rows: list[str], separator: str, encoding: str, end: str = "\r\n") -> bytes:
    """Rows whose fields stand between bars, as text with a separator."""
    return "".join(row.replace("|", separator) + end for row in rows).encode(encoding)


def sheets() -> Workbook:
    """A workbook with a cover, three lists of one layout, terms, and a hidden sheet of costs."""
    made = book([("Acme price book",), ("Valid from October 2026",)], "Cover")
    header = ("SKU", "Product description", "Partner price USD", "Lead time (weeks)")
    fill(made.create_sheet(), [header, ("MQM9700-NS2F", "Switch", 24000, 12)], "Switches")
    fill(
        made.create_sheet(),
        [("Optics",), header, ("MMA4Z00-NS", "OSFP", 850, 4), ("MMA4Z00-NS400", "OSFP", 600, None)],
        "Optics",
    )
    fill(made.create_sheet(), [header, ("MFP7E10-N030", "Fibre", 110.25, 2)], "Cables")
    fill(made.create_sheet(), [("Payment within 30 days.",)], "Terms")
    fill(made.create_sheet(), [header, ("MQM9700-NS2F", "Switch", 9000, 1)], "Costs")
    made["Costs"].sheet_state = "hidden"
    return made


def only_hidden() -> Workbook:
    """A workbook whose prices nobody sees."""
    made = book([("See the other sheet",)], "Cover")
    fill(made.create_sheet(), [("Part", "Price", "Currency"), ("QM9700", 1, "USD")], "Prices")
    made["Prices"].sheet_state = "veryHidden"
    return made


def dates_of_1904() -> Workbook:
    """A workbook whose days count from 1904."""
    made = Workbook()
    made.epoch = CALENDAR_MAC_1904
    rows: list[Row] = [
        ("Part No.", "Unit price", "Currency", "Valid until"),
        ("MQM9700-NS2F", 25000, "USD", date(2026, 12, 31)),
        ("MMA4Z00-NS", 879, "USD", date(2027, 1, 15)),
    ]
    fill(made.active, rows, "List")
    return made


def linked() -> bytes:
    """A workbook with a price from another file: what it was when it was saved stands beside the formula."""
    rows: list[Row] = [("Part", "Net price (USD)"), ("MQM9700-NS2F", 25000), ("MMA4Z00-NS", 879)]
    stream = io.BytesIO()
    with ZipFile(io.BytesIO(saved(book(rows)))) as old, ZipFile(stream, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("sheet1.xml"):
                content = content.replace(b"<v>879</v>", b"<f>[1]Sheet1!$B$2</f><v>879</v>")
            new.writestr(name, content)
        target = b"file:///srv/secret/costs.xlsx"
        new.writestr("xl/externalLinks/externalLink1.xml", b"<externalLink><externalBook/></externalLink>")
        new.writestr(
            "xl/externalLinks/_rels/externalLink1.xml.rels",
            b'<Relationships><Relationship Id="rId1" Target="%s" TargetMode="External"/></Relationships>' % target,
        )
    return stream.getvalue()


def bomb() -> bytes:
    """A workbook that would unpack to a hundred times what is read."""
    stream = io.BytesIO()
    with ZipFile(io.BytesIO(saved(book(QUOTE)))) as old, ZipFile(stream, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
        new.writestr("xl/media/image1.bin", b"\0" * 3 * 10**6)
    return stream.getvalue()


def formulas() -> Workbook:
    """A list whose net prices are formulas."""
    rows: list[Row] = [
        ("Part Number", "Description", "List Price", "Discount", "Net Price", "Currency"),
        ("MQM9700-NS2F", "Switch", 30000, 0.2, "=C2*(1-D2)", "EUR"),
        ("MMA4Z00-NS", "OSFP", 1000, 0.125, "=C3*(1-D3)", "EUR"),
        ("Total", None, "=SUM(C2:C3)", None, "=SUM(E2:E3)", None),
    ]
    return book(rows)


def error() -> Workbook:
    """A list with a formula that lost what it refers to."""
    return book([("Part", "Price", "Currency"), ("MQM9700-NS2F", 25000, "USD"), ("MMA4Z00-NS", "#REF!", "USD")])


JAPANESE = [
    "御見積書",
    "有効期限：2026年12月31日",
    "",
    "型番|品名|数量|標準価格|仕切価格|金額|納期",
    'MQM9700-NS2F|スイッチ|2|"\\4,500,000"|"\\3,800,000"|"\\7,600,000"|8週間',
    'MMA4Z00-NS|光トランシーバ|64|"\\180,000"|"\\150,000"|"\\9,600,000"|在庫あり',
    '小計|||||"\\17,200,000"|',
]
PRICES = "Part number|Description|Price"
FILES: dict[str, Callable[[], bytes]] = {
    "quote.xlsx": lambda: saved(book(QUOTE)),
    "quote.xls": lambda: converted(book(QUOTE), "xls"),
    "quote.ods": lambda: converted(book(QUOTE), "ods"),
    "merged.xlsx": lambda: saved(book(MERGED, merged="A1:F1 C2:E2 A2:A3 B2:B3 F2:F3 A4:A5 F4:F5")),
    "merged.xls": lambda: converted(book(MERGED, merged="A1:F1 C2:E2 A2:A3 B2:B3 F2:F3 A4:A5 F4:F5"), "xls"),
    "merged.ods": lambda: converted(book(MERGED, merged="A1:F1 C2:E2 A2:A3 B2:B3 F2:F3 A4:A5 F4:F5"), "ods"),
    "sheets.xlsx": lambda: saved(sheets()),
    "formulas.xlsx": lambda: converted(formulas(), "xlsx"),
    "formulas.ods": lambda: converted(formulas(), "ods"),
    "formulas-without-values.xlsx": lambda: saved(formulas()),
    "error.xlsx": lambda: saved(error()),
    "only-hidden.xlsx": lambda: saved(only_hidden()),
    "dates-of-1904.xlsx": lambda: saved(dates_of_1904()),
    "linked.xlsx": linked,
    "bomb.xlsx": bomb,
    "simple.csv": lambda: text(
        [
            "Part Number|Description|Unit Price (USD)",
            "MQM9700-NS2F|Switch|25000.00",
            "MMA4Z00-NS|OSFP|879.00",
            "ACME-1|Rails|12.50",
        ],
        ",",
        "utf-8",
    ),
    "signs.csv": lambda: text(
        [
            "Item|Mfr P/N|Desc|Unit list|Your price",
            '1|MQM9700-NS2F|Switch|"$30,000.00"|"$25,500.00"',
            '2|MMA4Z00-NS|OSFP|"$1,034.50"|$879.33',
        ],
        ",",
        "utf-8-sig",
    ),
    "german.csv": lambda: text(
        [
            "Acme Netze GmbH, Preisliste",
            "",
            "Pos|Hersteller-Nr.|Bezeichnung|Menge|Listenpreis|Rabatt %|Lieferzeit",
            "1|MQM9700-NS2F|Switch für InfiniBand|2|30.000,00 €|15|8 Wochen",
            "2|MMA4Z00-NS|Modul|64|1.034,50 €|12,5|ab Lager",
            "3|MFP7E10-N030|Kabel|32|140,00 €|0|10 Werktage",
            "||Zwischensumme||67.000,00 €||",
        ],
        ";",
        "cp1252",
    ),
    "swiss.csv": lambda: text(
        ["Artikelnummer|Preis CHF", "MQM9700-NS2F|27'500.50", "MMA4Z00-NS|950.00"],
        ";",
        "cp1252",
    ),
    "utf16.tsv": lambda: text(
        [
            "SKU|Product name|MSRP|Curr.",
            "MQM9700-NS2F|Commutateur réseau|28 000,00|EUR",
            "MMA4Z00-NS|Émetteur|912,50|EUR",
        ],
        "\t",
        "utf-16",
    ),
    "bars.txt": lambda: b"MODEL|PRICE EACH|CUR|ETA\nMQM9700-NS2F|25000|USD|3 months\nMMA4Z00-NS|879|USD|TBC\n",
    "tabs.xls": lambda: text(["Part|Price|Currency", "QM9700|25,000.00|USD", "MMA4Z00-NS|879.00|USD"], "\t", "utf-8"),
    "currencies.csv": lambda: text(
        ["Part,Net price,Currency,MOQ", "MQM9700-NS2F,25000,USD,1", "MMA4Z00-NS,879,EUR,1", "MMA4Z00-NS,799,EUR,1000"],
        ",",
        "utf-8",
    ),
    "two-numbers.csv": lambda: text(
        ["SKU,Mfr P/N,Price USD", "A-100,MQM9700-NS2F,25000", "A-101,MMA4Z00-NS,879", "A-102,MFP7E10-N030,119"],
        ",",
        "utf-8",
    ),
    "net-differs.csv": lambda: text(
        ["Part,List price,Disc %,Net price,Currency", "MQM9700-NS2F,30000,15,25500,USD", "MMA4Z00-NS,1000,15,900,USD"],
        ",",
        "utf-8",
    ),
    "two-unknown-numbers.csv": lambda: text(
        ["SKU,Mfr P/N,Price USD", "A-100,B-77,25000", "A-101,B-78,879"], ",", "utf-8"
    ),
    "no-header.csv": lambda: text(["MQM9700-NS2F,25000", "MMA4Z00-NS,879"], ",", "utf-8"),
    "no-currency.csv": lambda: text([PRICES, "MQM9700-NS2F|Switch|25000"], ";", "utf-8"),
    "breaks-as-columns.csv": lambda: text(
        ["Part,Price 1-9,Price 10+,Currency", "MQM9700-NS2F,25000,24000,USD"], ",", "utf-8"
    ),
    "two-prices.csv": lambda: text(["Part,Price USD,Price EUR", "MQM9700-NS2F,25000,23000"], ",", "utf-8"),
    "thousands.csv": lambda: text([f"{PRICES} EUR", "MQM9700-NS2F|Switch|25.000", "MMA4Z00-NS|OSFP|879"], ";", "utf-8"),
    "both-separators.csv": lambda: text(
        [f"{PRICES} EUR", "MQM9700-NS2F|Switch|25.000,50", "MMA4Z00-NS|OSFP|879,50", "MFP7E10-N030|Fibre|1,119.50"],
        ";",
        "utf-8",
    ),
    "with-tax.csv": lambda: text(["Part;Price incl. VAT;Currency", "MQM9700-NS2F;25000;EUR"], ";", "utf-8"),
    "yen-or-yuan.csv": lambda: text(["Part,Price", 'MQM9700-NS2F,"¥200,000.00"'], ",", "utf-8"),
    "zh-tenths.csv": lambda: text(
        [
            "料号,描述,数量,单价,折扣,币种",
            'MQM9700-NS2F,交换机,2,"200,000",9折,人民币',
            "MMA4Z00-NS,光模块,4,7000,8.5折,人民币",
            '合计,,,"388,000",,',
        ],
        ",",
        "gb18030",
    ),
    "zh-paid.xlsx": lambda: saved(book(CHINESE, "报价", "A1:H1")),
    "zh-paid.ods": lambda: converted(book(CHINESE, "报价", "A1:H1"), "ods"),
    "zh-unclear.xlsx": lambda: saved(book([row[:7] for row in CHINESE[:4]], "报价", "A1:G1")),
    "zh-taxes.xls": lambda: converted(
        book(
            [
                ("物料编码", "名称", "含税单价", "不含税单价", "币种", "货期"),
                ("MQM9700-NS2F", "交换机", 226000, 200000, "CNY", "8周"),
                ("MMA4Z00-NS", "光模块", 7910, 7000, "CNY", "现货"),
            ],
            "价格",
        ),
        "xls",
    ),
    "zh-net.tsv": lambda: text(
        [
            "2026年10月价格表",
            "序号|产品型号|品名|列表价|折扣率|折后价|交货期",
            "1|MQM9700-NS2F|交换机|¥220,000.00|15%|¥187,000.00|6-8周",
            "2|MMA4Z00-NS|光模块|¥8,000.00|15%|¥6,800.00|15个工作日",
            "3|MFP7E10-N030|光纤|询价|||",
        ],
        "\t",
        "utf-16-le",
    ),
    "tables.xlsx": lambda: saved(book(TABLES)),
    "hidden.xlsx": lambda: saved(hidden()),
    "hidden.ods": lambda: converted(hidden(), "ods"),
    "hidden.xls": lambda: converted(hidden(), "xls"),
    "german-units.csv": lambda: text(
        [
            "Angebot 4711 vom 08.10.2026, gültig bis 31.12.2026|||||||",
            "Pos.|Artikelnr.|Bezeichnung|Menge|ME|Preis/ME|PE|Gesamt",
            "10|MQM9700-NS2F|Switch|2|ST|25.000,00 €|1|50.000,00 €",
            "20|MFP7E10-N030|Faser|200|ST|11.900,50 €|100|23.801,00 €",
            "30|MFP7E10-N020|Faser, 5 Stück im Beutel|40|BTL|550,00 €|1|22.000,00 €",
        ],
        ";",
        "cp1252",
    ),
    "french.csv": lambda: text(
        [
            "Référence|Désignation|Prix unitaire HT|Remise|Prix net HT|Délai",
            "MQM9700-NS2F|Commutateur|25\u202f000,00 €|10 %|22\u202f500,00 €|6 semaines",
            "MMA4Z00-NS|Module|1\u202f034,50 €|10 %|931,05 €|en stock",
            "AC-1|Rails|sur demande|||",
            "Total HT||||23\u202f431,05 €|",
        ],
        ";",
        "utf-8",
    ),
    "japanese.csv": lambda: text(JAPANESE, ",", "cp932"),
    "edu.csv": lambda: text(
        [
            "P/N,Description,MSRP,EDU price,GSA price,Status",
            'MQM9700-NS2F,Switch,"$31,500.00","$24,000.00","$26,100.00",Active',
        ],
        ",",
        "utf-8",
    ),
    "mixed-discounts.csv": lambda: text(
        ["Part,List USD,Disc", "MQM9700-NS2F,30000,0.35", "MMA4Z00-NS,1000,35", "MFP7E10-N030,140,35%"], ",", "utf-8"
    ),
    "divided-heading.xlsx": lambda: saved(book(DIVIDED, merged="E2:F2")),
    "zh-with-tax.csv": lambda: text(["型号,单价（含税）", 'MQM9700-NS2F,"¥185,000.00"'], ",", "utf-8"),
    "zh-list-and-with-tax.csv": lambda: text(
        ["型号,列表价,折后价（含税）,币种", "MQM9700-NS2F,100,90,CNY"], ",", "utf-8"
    ),
    "zh-title-with-tax.csv": lambda: text(
        ["单位：人民币元（含13%增值税）,", "型号,单价", "MQM9700-NS2F,185000"], ",", "utf-8"
    ),
    "zh-without-tax.csv": lambda: text(
        ["报价不含税，如需含税另加13%,", "型号,单价（未税）", 'MQM9700-NS2F,"¥185,000.00"', '价税合计,"¥209,050.00"'],
        ",",
        "utf-8",
    ),
    "zh-units.xlsx": lambda: saved(book(CHINESE_UNITS, "报价")),
    "zh-ten-thousands.csv": lambda: text(["型号,单价（万元）", "MQM9700-NS2F,20"], ",", "utf-8"),
}


def main() -> None:
    """Write all files, or those that are named."""
    for name in sys.argv[1:] or FILES:
        (HERE / name).write_bytes(FILES[name]())


if __name__ == "__main__":
    main()
