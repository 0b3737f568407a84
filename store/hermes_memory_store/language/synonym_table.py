"""Synonyms of the field as index terms. Made by `python -m tests.tools.synonym_table` from
`packaging/field_synonyms.txt`.

One group a line; members are separated by `|`, the terms of a member by spaces.
"""

SAME = """
k8s|kubernet|kube
postgr|postgresql|pg|psql
js|javascript|ecmascript
ts|typescript
py|python
csharp|dotnet
rb|rubi
rs|rust
mongo|mongodb
elasticsearch|elast
mq|messag queue|messag broker
db|databas|base de donne|bdd|datenbank|base de dato|bbdd|база данных|бд|数据 据库|デー ータ タベ ベー ース|데이 이터 터베 베이 이스
repo|repositori|depot|repositorio|репозитории|仓库|代码 码库|リポ ポジ ジト トリ|저장 장소
cfg|config|configur|conf|configuracion|konfigur|конфигурация|配置|設定|설정
env|environ|environn|umgebung|entorno|окружение|环境|環境|환경
prod|product|produkt|produccion|продакшн|прод|生产 产环 环境|生产|本番|운영 영 환경|프로 로덕 덕션
dev|develop|developp|entwicklung|desarrollo|разработка|开发|開発|개발
auth|authent|authentif|authentifizierung|autenticacion|аутентификация|认证|身份 份验 验证|認証|인증
authz|author|authoris|autoris|autorisierung|autorizacion|авторизация|授权|認可|권한 한 부여
pw|pwd|password|passwd|passwort|kennwort|mot de pass|contrasena|пароль|密码|口令|パス スワ ワー ード|비밀 밀번 번호
pr|pull request|merg request|mr
ci|continu integr
cd|continu deliveri|continu deploy
i18n|internation|internationalis
l10n|local|localis
a11y|access|barrierefreiheit|accessibilit|accesibilidad
o11y|observ
e2e|end to end
ui|user interfac|gui|frontend interfac|benutzeroberflach|interfac utilisateur|interfaz de usuario|界面|画面
ux|user experi
api|schnittstel|interfac de programm|接口|인터 터페 페이 이스
url|uri|web address
dn|domain name system|name server|nameserv
tl|ssl|http
cert|certif|certificat|zertifikat|certificado|сертификат|证书|証明 明書|인증 증서
vpn|virtual privat network
lb|load balanc|lastverteil|repartiteur de charg|balanceador de carga|балансировщик|负载 载均 均衡|ロー ード ドバ バラ ラン ンサ サー|ロー ード ドバ バラ ラン ンサ|로드 드 밸런 런서
cdn|content deliveri network
vm|virtual machin|maquina virtual|machin virtuel|виртуальная машина|虚拟 拟机|仮想 想マ マシ シン|가상 상 머신
os|oper system|betriebssystem|system d exploit|sistema operativo|операционная система|操作 作系 系统|운영 영체 체제
cpu|processor|prozessor|processeur|procesador
ram|main memori|arbeitsspeich|memoir vive|内存|メモ モリ|메모 모리
gpu|graphic card
ssd|solid state disk
id|identifi|ident|bezeichn|kennung|identificador|идентификатор|标识
num|number|nummer|numero
msg|messag|nachricht|mensaj|сообщение|消息|메시 시지|メッ ッセ セー ージ
req|request|anfrag|requet|peticion|solicitud|запрос|请求|リク クエ エス スト|요청
resp|respons|antwort|repons|respuesta|ответ|响应|レス スポ ポン ンス|응답
err|error|fehler|erreur|ошибка|错误|エラ ラー|오류|에러
doc|document|dokument|documentacion|документация|文档|ドキ キュ ュメ メン ント|문서
dep|depend|abhangigkeit|abhangigkeiten|dependencia|зависимость|依赖|依存 存関 関係|의존 존성
pkg|packag|paket|paquet|пакет|パッ ッケ ケー ージ|패키 키지
lib|librari|bibliothek|bibliothequ|biblioteca|библиотека|ライ イブ ブラ ラリ|라이 이브 브러 러리
dir|directori|folder|verzeichni|ordner|dossier|repertoir|carpeta|directorio|папка|каталог|目录|文件 件夹|フォ ォル ルダ|ディ ィレ レク クト トリ|폴더
app|applic|anwendung|aplicacion|приложение|应用|アプ プリ|アプ プリ リケ ケー ーシ ショ ョン
admin|administr|administrateur|administrador|администратор|管理 理员|管理 理者|관리 리자
perm|permiss|berechtigung|droit|permiso|права|权限|権限|권한
perf|perform|leistung|rendimiento|производительность|性能|パフ フォ ォー ーマ マン ンス|성능
infra|infrastructur|infrastruktur|infraestructura|инфраструктура|基础 础设 设施|イン ンフ フラ|인프 프라
svc|servic|dienst|servicio|сервис|服务|サー ービ ビス|서비 비스
srv|server|serveur|servidor|сервер|服务 务器|サー ーバ バー|サー ーバ|서버
clt|client|клиент|客户 户端|クラ ライ イア アン ント|클라 라이 이언 언트
fn|func|function|funktion|fonction|funcion|функция|函数|関数|함수
var|variabl|переменная|变量|変数|변수
arg|argument|param|paramet|parametr|parametro|параметр|参数|引数|パラ ラメ メー ータ|매개 개변 변수
attr|attribut|atributo
ref|refer|referenz|referencia
max|maximum|maxim|maximo|максимум|最大
min|minimum|minim|minimo|минимум|最小
avg|averag|durchschnitt|moyenn|promedio|среднее|平均
temp|tmp|temporari|temporar|temporair|tempor|временныи|临时|一時|임시
info|inform
sync|synchron|synchronis|sincronizacion|синхронизация|同步|同期|동기 기화
async|asynchron|asincrono|异步|非同 同期|비동 동기
impl|implement|implementierung|implementacion|реализация|实现|実装|구현
mgmt|manag|verwaltung|gestion|управление|管理|관리
notif|benachrichtigung|notificacion|уведомление|通知|알림
btn|button|bouton|boton|schaltflach|кнопка|按钮|ボタ タン|버튼
img|imag|pictur|bild|imagen|изображение|图片|画像|이미 미지
regex|regexp|regular express|regular ausdruck|express regulier|expres regular|正则 则表 表达 达式|正規 規表 表現|정규 규식
sso|singl sign on
mfa|2fa|two factor|multi factor|second factor|双因 因素|二要 要素 素認 認証|2 단계 계 인증
otp|on time password
jwt|json web token
oauth|oauth2|open author
rbac|role base access
orm|object relat mapper
crud|creat read updat delet
ddl|data definit
sdk|softwar develop kit
cli|command line|commandlin|lign de command|kommandozeil|linea de comando|командная строка|命令 令行|コマ マン ンド ドラ ライ イン|명령 령줄
id|code editor
iac|infrastructur as code|terraform
sla|servic level agreement
slo|servic level object
kpi|key perform indic
rpc|remot procedur call|grpc
sse|server send event
ws|websocket
ttl|time to live
fk|foreign key|fremdschlussel|cle etranger|clave foranea|外键|外部 部キ キー
pk|primari key|primarschlussel|cle primair|clave primaria|主键|主キ キー
idx|index|indic|индекс|索引|イン ンデ デッ ック クス|인덱 덱스
sg|secur group
ha|high avail|hochverfugbarkeit|haut disponibilit|alta disponibilidad
dr|disast recoveri
rto|recoveri time object
rpo|recoveri point object
sre|site reliabl
qa|qualiti assur|tester
pm|product manag|project manag
po|product owner
cto|chief technolog offic
eod|end of day
asap|as soon as possibl|urgent|dringend|срочно|紧急|至急|긴급
eta|estim time
fyi|for your inform
tz|time zone|timezon|zeitzon|fuseau horair|zona horaria|часовои пояс|时区|タイ イム ムゾ ゾー ーン|시간 간대
utc|gmt|zulu time
mb|megabyt
gb|gigabyt
ms|millisecond
sec|second
hr|hour
csv|comma separ
yml|yaml
md|markdown
ff|featur flag|featur toggl|featur switch
tf|terraform
gha|github action
gh|github
gl|gitlab
aw|amazon web servic
gcp|googl cloud
az|avail zone
s3|object storag|object store|objektspeich|stockag objet|对象 象存 存储|オブ ブジ ジェ ェク クト トス スト トレ レー ージ
ec2|comput instanc
iam|ident and access
vpc|privat network
nosql|document databas|document store
rdbm|relat databas
etl|extract transform load|data pipelin
ml|machin learn|maschinel lernen|apprentissag automatiqu|aprendizaj automatico|机器 器学 学习|機械 械学 学習|기계 계 학습|머신 신러 러닝
ai|artifici intellig|kunstlich intelligenz|ki|intellig artificiel|人工 工智 智能|人工 工知 知能|인공 공지 지능
llm|larg languag model|languag model|sprachmodel|大模 模型|言語 語モ モデ デル
nlp|natur languag process
ocr|text recognit
pdf|portabl document
smtp|mail server|mailserv
imap|mailbox
mail|email|e mail|courriel|correo|correo electronico|почта|邮件|邮箱|メー ール|이메 메일|메일
tel|phone|telephon|telefon|telefono|телефон|电话|電話|전화
addr|address|adress|direccion|адрес|地址|住所|アド ドレ レス|주소
org|organ|organis|organizacion|организация|组织|組織|조직
dept|depart|abteilung|departamento|отдел|部门|部署|부서
govt|govern
qti|quantiti|meng|quantit|cantidad|количество|数量|수량
amt|amount|betrag|montant|import|сумма|金额|金額|금액
inv|invoic|rechnung|factur|factura|счет|发票|請求 求書|청구 구서|송장
tx|txn|transact|transakt|transaccion|транзакция|事务|交易|トラ ラン ンザ ザク クシ ショ ョン|트랜 랜잭 잭션
acct|account|konto|compt|cuenta|аккаунт|учетная запись|账号|账户|アカ カウ ウン ント|계정
usr|user|benutz|nutzer|utilisateur|usuario|пользователь|用户|ユー ーザ ザー|ユー ーザ|사용 용자
cust|custom|kund|kunden|clientel|клиенты|客户|顧客|고객
lang|languag|sprach|langu|idioma|lenguaj|язык|语言|言語|언어
ver|version|версия|版本|バー ージ ジョ ョン|버전
rel|releas|veroffentlichung|public|lanzamiento|релиз|发布|リリ リー ース|릴리 리스|배포
feat|featur|merkmal|fonctionnalit|funcionalidad|фича|功能|機能|기능
spec|specif|spezifik|especificacion|спецификация|规范|仕様|사양
proto|prototyp
stat|statist|statistik|statistiqu|estadistica|статистика|统计|統計|통계
calc|calcul|comput|berechnung|calculo
gen|gener
init|initi|initialis|initialisierung|inicializacion
exec|execut|ausfuhrung|ejecucion
del|delet|loschen|loschung|supprim|suppress|borrar|eliminar|удалить|удаление|删除|削除|삭제
upd|updat|aktualisierung|aktualisieren|mise a jour|actualizacion|actualizar|обновление|更新|アッ ップ プデ デー ート|업데 데이 이트
in|insert
cal|calendar|kalend|calendri|calendario|календарь|日历|カレ レン ンダ ダー|캘린 린더|달력
nginx|revers proxi
gdpr|dsgvo|rgpd|data protect|datenschutz|proteccion de dato|protect de donne|数据 据保 保护|個人 人情 情報 報保 保護
pii|person data|personenbezogen daten|donne personnel|dato personal|персональные данные|个人 人信 信息|個人 人情 情報|개인 인정 정보
vat|valu ad tax|mehrwertsteu|mwst|ust|tva|iva|ндс|增值 值税|消費 費税|부가 가세
pci|card data
dockerfil|contain file
compos|docker compos
vscode|visual studio code
maco|osx|mac os
debian|apt
homebrew|brew
mariadb|mysql
mssql|sql server
sqlite|sqlite3
redi|valkey
rabbit|rabbitmq
react|reactj|react js
vue|vuej|vue js
angular|angularj
node|nodej|node js
spring|spring boot|springboot
rail|rubi on rail|ror
tailwind|tailwindcss
sentri|error tracker|error track
grafana|dashboard
okta|ident provid|idp
keycloak|ident server
colour|color|farb|couleur|цвет|颜色|색상
behaviour|behavior|verhalten|comport|comportamiento
licenc|licens|lizenz|licencia|лицензия|许可 可证|许可|ライ イセ セン ンス|라이 이선 선스
centr|center
catalogu|catalog|katalog|catalogo
grey|gray
analys|analyz|analysi|examin
optimis|optim
organis|organ
serialis|serial
normalis|normal
minimis|minim
authoris|author
initialis|initi
"""  # noqa: E501
"""Two ways to write one thing: short and long forms, spellings, translations."""

NEAR = """
login|log in|log on|logon|signin|sign in|sign on|auth|authent|anmeldung|anmelden|einloggen|connexion|se connect|inicio de sesion|iniciar sesion|вход|登录|登陆|ログ グイ イン|로그 그인
logout|log out|log off|sign out|signout|abmelden|abmeldung|deconnexion|cerrar sesion|выход|登出|退出 出登 登录|ログ グア アウ ウト|로그 그아 아웃
signup|sign up|regist|registr|registrierung|registrieren|inscript|s inscrir|registro|registrars|регистрация|注册|登録|회원 원가 가입|가입
broker|queue|messag bu|event bu|messag|kafka|rabbitmq|nat|sq|amqp|pubsub|warteschlang|file d attent|cola|очередь|队列|消息 息队 队列|キュ ュー
stream|event stream|kafka
databas|datastor|data store|storag engin|postgr|mysql|sql
pipelin|ci|build|workflow|github action|jenkin|gitlab ci|circleci|流水 水线|パイ イプ プラ ライ イン|파이 이프 프라 라인
deploy|releas|rollout|roll out|ship|publish|go live|ausrollen|ausliefern|bereitstellung|bereitstellen|deploiement|mise en product|despliegu|desplegar|деплои|развертывание|выкатка|部署|发布|上线|デプ プロ ロイ|배포
rollback|roll back|revert|undo|zuruckrollen|ruckgangig|retour arrier|annul|revertir|откат|回滚|ロー ール ルバ バッ ック|롤백
stage|test environ|preview|pre product|preprod|preproduct|testumgebung|environn de test|entorno de prueba|测试 试环 环境|预发 发布|ステ テー ージ ジン ング|스테 테이 이징
product|live|live system|produktivsystem|live environ
contain|docker|podman|imag|conteneur|contenedor|контеинер|容器|コン ンテ テナ|컨테 테이 이너
cluster|kubernet|k8s|orchestr|node|集群|クラ ラス スタ|클러 러스 스터
pod|contain|workload
helm|chart
secret|credenti|api key|token|password|geheimni|zugangsdaten|identifi|secreto|credencial|секрет|учетные данные|密钥|凭据|凭证|シー ーク クレ レッ ット|認証 証情 情報|비밀|자격 격 증명
vault|secret store|secret manag|keyr|key store
key|token|schlussel|cle|clave|llave|ключ|密钥
token|jwt|access token|bearer|session token|令牌|トー ーク クン|토큰
session|cooki|sitzung|sesion|сессия|会话|セッ ッシ ショ ョン|세션
encrypt|cipher|verschlusseln|verschlusselung|chiffrer|chiffrement|cifrar|cifrado|шифрование|加密|暗号 号化|암호 호화
hash|digest|checksum|argon2|bcrypt|prufsumm|somm de control|哈希|散列|ハッ ッシ シュ|해시
cach|redi|memcach|memoiz|zwischenspeich|mise en cach|кэш|кеш|缓存|キャ ャッ ッシ シュ|캐시
backup|back up|snapshot|dump|sicherung|sicherungskopi|datensicherung|sauvegard|copia de seguridad|respaldo|резервная копия|бэкап|备份|バッ ック クア アッ ップ|백업
restor|recoveri|recov|wiederherstellung|wiederherstellen|restaur|restaurar|recuperacion|восстановление|恢复|復元|復旧|복구|복원
migrat|schema chang|alemb|flyway|liquibas|migracion|миграция|迁移|マイ イグ グレ レー ーシ ショ ョン|移行|마이 이그 그레 레이 이션
schema|data model|tabl definit|tabl|datenmodel|model de donne|esquema|схема|表结 结构|スキ キー ーマ|스키 키마
queri|sql|select|abfrag|requet|consulta|查询|クエ エリ|쿼리
index|indic
tabl|tabel|tabla|таблица|テー ーブ ブル|테이 이블
column|field|spalt|feld|colonn|champ|columna|campo|столбец|поле|字段|カラ ラム|컬럼|필드
row|record|entri|datensatz|zeil|enregistr|lign|fila|registro|запись|记录|レコ コー ード|레코 코드
replica|replic|standbi|follow|secondari|replikat|реплика|副本|从库|レプ プリ リカ|복제
primari|master|leader|main node|主库|主节 节点|プラ ライ イマ マリ
shard|partit|partitionierung|particion|шард|分片|分区|シャ ャー ード|パー ーテ ティ ィシ ショ ョン|샤드
lock|mutex|semaphor|sperr|verrou|bloqueo|cerrojo|блокировка|ロッ ック|잠금
thread|concurr|parallel|nebenlaufigkeit|concurrencia|hilo|поток|线程|并发|スレ レッ ッド|並行|스레 레드|동시 시성
job|task|worker|background job|cron|cronjob|schedul task|schedul|aufgab|tach|tarea|задача|задание|任务|定时 时任 任务|ジョ ョブ|タス スク|작업
schedul|cron|timer|timet|zeitplan|planif|horario|programacion|расписание|计划|日程|スケ ケジ ジュ ュー ール|일정
retri|backoff|reattempt|wiederholung|wiederholen|reessay|reintento|reintentar|повтор|重试|リト トラ ライ|再試 試行|재시 시도
timeout|time limit|deadlin|zeituberschreitung|zeitlimit|delai|delai d attent|tiempo de espera|таимаут|超时|タイ イム ムア アウ ウト|타임 임아 아웃|시간 간 초과
limit|maximum|cap|quota|threshold|ceil|grenz|obergrenz|plafond|лимит|ограничение|上限|限制|制限|한도|제한
rate limit|throttl|ratelimit|drosselung|limit de debit|limit de tasa|限流|レー ート ト制 制限|속도 도 제한
latenc|delay|respons time|slow|lag|latenz|antwortzeit|verzogerung|temp de repons|latencia|tiempo de respuesta|задержка|延迟|响应 应时 时间|レイ イテ テン ンシ|遅延|지연
throughput|rp|qp|request per second|durchsatz|debit|rendimiento|吞吐 吐量|スル ルー ープ プッ ット|처리 리량
fast|quick|speed|rapid|schnell|vite|rapido|velocidad|быстро|скорость|速度|速い|빠른|속도
slow|sluggish|langsam|lento|медленно|遅い|느린
monitor|observ|metric|prometheu|grafana|alert|dashboard|datadog|uberwachung|surveil|supervis|monitoreo|мониторинг|监控|監視|モニ ニタ タリ リン ング|모니 니터 터링
alert|alarm|warn|pager|pagerduti|notif|on call|oncal|warnung|alerta|предупреждение|告警|报警|アラ ラー ート|警告|경보|알림
oncal|on call|pager|standbi duti|bereitschaft|bereitschaftsdienst|rufbereitschaft|astreint|guardia|дежурство|дежурныи|值班|オン ンコ コー ール|当番|당직
incid|outag|downtim|failur|crash|storung|ausfal|vorfal|pann|incident|caida|инцидент|сбои|авария|故障|事故|宕机|障害|イン ンシ シデ デン ント|장애
postmortem|post mortem|retrospect|root caus|incid report
log|log file|protokol|protokollierung|journal|journaux|journalis|registro|логи|лог|журнал|日志|ログ|로그
trace|opentelemetri|otel|jaeger|span|链路 路追 追踪|トレ レー ース|추적
metric|measur|figur|kennzahl|metrik|metriqu|metrica|метрика|指标|メト トリ リク クス|指標|지표
dashboard|panel|grafana|ubersicht|tableau de bord|panel de control|tablero|дашборд|看板|仪表 表盘|ダッ ッシ シュ ュボ ボー ード|대시 시보 보드
bug|defect|issu|error|fault|glitch|fehler|bogu|anomali|defecto|баг|缺陷|漏洞|バグ|不具 具合|버그|결함
issu|ticket|jira|task|stori|vorgang|incidencia|тикет|工单|チケ ケッ ット|이슈|티켓
fix|repair|patch|hotfix|solv|resolv|correct|beheben|behebung|korrektur|corrig|correctif|repar|arreglar|corregir|solucion|исправить|исправление|修复|修正|수정
except|error|stack trace|traceback|throw|ausnahm|excepcion|исключение|异常|例外|예외
crash|panic|segfault|abort|absturz|plantag|падение|崩溃|クラ ラッ ッシ シュ|크래 래시
test|spec|unit test|pytest|jest|prufung|essai|prueba|тест|тесты|测试|テス スト|테스 스트
mock|stub|fake|test doubl
coverag|test coverag|testabdeckung|couvertur|cobertura|покрытие|覆盖 盖率|カバ バレ レッ ッジ|커버 버리 리지
flaki|unstabl|intermitt|sporad|instabl|inest
lint|linter|static analysi|ruff|eslint|flake8|pylint
format|formatt|style|black|prettier|codestil|formatag|formato|форматирование|格式|フォ ォー ーマ マッ ット|포맷
indent|tab|space|whitespac|einruckung|sangria|отступ|缩进|イン ンデ デン ント|들여 여쓰 쓰기
convent|guidelin|style guid|standard|rule|konvent|richtlini|regl|norma|regla|соглашение|правило|约定|规则|規約|ルー ール|규칙
name|name convent|benennung|nommag|nomenclatura|именование|命名|명명
review|code review|approv|begutachtung|freigab|relectur|revu|approb|revis|aprobacion|ревью|评审|审查|审核|レビ ビュ ュー|承認|리뷰|승인|검토
merg|integr|zusammenfuhren|fusionn|fusion|fusionar|слияние|合并|マー ージ|병합
branch|zweig|rama|ветка|分支|ブラ ラン ンチ|브랜 랜치
trunk|main branch|master|default branch|hauptzweig|branch principal|rama princip
commit|check in|changeset|提交|コミ ミッ ット|커밋
tag|label|marker|etikett|etiquett|etiqueta|тег|метка|标签|タグ|ラベ ベル|태그|라벨
fork|clone|copi
monorepo|singl repositori|mono repo
squash|rebas|linear histori
changelog|releas note|anderungsprotokol|note de version|nota de version|更新 新日 日志|変更 更履 履歴
hotfix|emerg fix|patch
freez|code freez|lockdown|gel|congelacion
sprint|iter|cycl|迭代|スプ プリ リン ント|스프 프린 린트
roadmap|plan|mileston|fahrplan|feuill de rout|hoja de ruta|план|дорожная карта|路线 线图|ロー ード ドマ マッ ップ|로드 드맵
deadlin|due date|due|cutoff|frist|termin|stichtag|echeanc|date limit|fecha limit|plazo|дедлаин|срок|截止 止日 日期|期限|締め め切 切り|締切|마감
meet|call|standup|stand up|sync|daili|besprechung|treffen|reunion|встреча|совещание|созвон|会议|站会|例会|会議|打ち ち合 合わ わせ|ミー ーテ ティ ィン ング|회의|미팅
owner|respons|maintain|in charg|lead|contact|verantwortlich|zustandig|ansprechpartn|proprietair|propietario|encargado|ответственныи|владелец|负责 责人|负责|担当 当者|担当|담당 당자|담당
team|squad|group|crew|mannschaft|equip|equipo|команда|团队|小组|チー ーム
boss|manag|lead|head|respons|chef|chefin|vorgesetzt|leiter|leiterin|jefe|jefa|encargada|начальник|руководитель|老板|经理|上司|상사
colleagu|cowork|co worker|teammat|kolleg|kollegin|collegu|companero|colega|коллега|同事|同僚|동료
employe|staff|worker|mitarbeit|employ|salari|empleado|сотрудник|员工|社員|従業 業員|직원
offic|workplac|buro|bureau|oficina|офис|办公 公室|オフ フィ ィス|사무 무실
vacat|holiday|leav|time off|pto|urlaub|ferien|cong|vacanc|vacacion|отпуск|休假|假期|年假|休暇|有給|휴가|연차
salari|pay|wage|compens|gehalt|lohn|salair|salario|sueldo|зарплата|工资|薪水|給料|급여
hire|recruit|onboard|new hire|einstellen|einstellung|recrut|embauch|contratacion|наим|招聘|入职|採用|채용
frontend|front end|client side|web ui|browser|前端|フロ ロン ント トエ エン ンド|프론 론트 트엔 엔드
backend|back end|server side|后端|バッ ック クエ エン ンド|백엔 엔드
websit|web site|site|homepag|web page|webseit|site web|sitio web|pagina web|саит|网站|网页|サイ イト|ウェ ェブ ブサ サイ イト|홈페 페이 이지|웹사 사이 이트
page|screen|view|seit|ecran|pantalla|pagina|страница|экран|页面|ペー ージ|画面|페이 이지|화면
mobil|phone|smartphon|io|android|handi|movil|мобильныи|手机|移动 动端|モバ バイ イル|スマ マホ|모바 바일|휴대 대폰
desktop|laptop|comput|pc|machin|rechner|ordinateur|ordenador|computadora|компьютер|电脑|パソ ソコ コン|컴퓨 퓨터|노트 트북
browser|chrome|firefox|safari|navigateur|navegador|браузер|浏览 览器|ブラ ラウ ウザ|브라 라우 우저
button|click|tap
form|input|dialog|modal|formular|formulair|formulario|форма|表单|フォ ォー ーム
theme|dark mode|light mode|colour scheme|dunkelmodu|mode sombr|modo oscuro|深色 色模 模式|ダー ーク クモ モー ード|다크 크 모드
layout|design|mockup|wirefram|figma|entwurf|maquett|diseno|дизаин|设计 计稿|设计|デザ ザイ イン|디자 자인
font|typefac|schriftart|polic|fuent|шрифт|字体|フォ ォン ント|글꼴
compon|widget|modul|baustein|compos|component|компонент|组件|コン ンポ ポー ーネ ネン ント|컴포 포넌 넌트
endpoint|rout|api|url|path|handler|endpunkt|point d entre|ruta|эндпоинт|маршрут|端点|エン ンド ドポ ポイ イン ント|엔드 드포 포인 인트
gateway|api gateway|proxi|revers proxi|ingress|passerel|pasarela|шлюз|网关|ゲー ート トウ ウェ ェイ|게이 이트 트웨 웨이
proxi|revers proxi|nginx|envoy|haproxi|traefik|caddi
webhook|callback|hook|web hook
protocol|http|grpc|rest|protokol|protocolo|протокол|协议|プロ ロト トコ コル|프로 로토 토콜
rest|http api
graphql|apollo
payload|bodi|request bodi|messag bodi
header|kopfzeil|en tete|encabezado|заголовок|ヘッ ッダ ダー|헤더
valid|check|verifi|verif|uberprufung|prufen|validar|verificar|проверка|校验|验证|検証|검증
sanit|escap|clean
serial|encod|marshal|json
pars|parser|decod|deseri
upload|file upload|hochladen|televers|subir|загрузка|上传|アッ ップ プロ ロー ード|업로 로드
download|herunterladen|telecharg|descargar|descarga|скачать|下载|ダウ ウン ンロ ロー ード|다운 운로 로드
export|dump|extract|ausfuhr|exportar|экспорт|导出|エク クス スポ ポー ート|내보 보내 내기
import|ingest|load|importar|импорт|导入|イン ンポ ポー ート|가져 져오 오기
storag|disk|volum|store|speicher|speicherplatz|stockag|almacenamiento|хранилище|диск|存储|磁盘|スト トレ レー ージ|저장 장소|스토 토리 리지
bucket|s3|object storag|blob
file|datei|fichier|archivo|fichero|фаил|文件|ファ ァイ イル|파일
path|locat|pfad|chemin|ruta|путь|路径|パス|경로
host|hostnam|server|machin|node|rechnernam|hote|anfitrion|хост|主机|ホス スト|호스 스트
port|port number|listen|puerto|порт|端口|ポー ート|포트
network|subnet|netzwerk|reseau|сеть|网络|ネッ ット トワ ワー ーク|네트 트워 워크
firewal|secur group|acl|pare feu|cortafuego|брандмауэр|防火 火墙|ファ ァイ イア アウ ウォ ォー ール|방화 화벽
domain|hostnam|fqdn|dominio|домен|域名|ドメ メイ イン|도메 메인
region|data center|datacent|locat|zone|rechenzentrum|centr de donne|centro de dato|регион|датацентр|机房|数据 据中 中心|リー ージ ジョ ョン|デー ータ タセ セン ンタ ター|리전|데이 이터 터센 센터
cloud|aw|azur|gcp|host|provid|hoster|nube|облако|クラ ラウ ウド|클라 라우 우드
serverless|lambda|cloud function|function
autosc|scale|autoscal|scale out|skalierung|mise a l echel|escalado|масштабирование|扩容|伸缩|スケ ケー ーリ リン ング|확장
cost|price|expens|budget|spend|kosten|prei|cout|prix|depens|costo|precio|gasto|стоимость|цена|расходы|费用|成本|价格|预算|費用|コス スト|価格|予算|비용|가격|예산
bill|invoic|charg|abrechnung|rechnungsstellung|factur|facturacion|cobro|биллинг|账单|计费|請求|課金|결제|청구
payment|pay|checkout|stripe|paypal|zahlung|bezahlung|paiement|pago|оплата|платеж|支付|付款|決済|支払 払い|결제|지불
subscript|plan|membership|abonn|abo|suscripcion|подписка|订阅|会员|サブ ブス スク クリ リプ プシ ショ ョン|購読|구독
refund|reimburs|chargeback|ruckerstattung|erstattung|rembours|reembolso|возврат|退款|返金|환불
currenc|money|euro|dollar|wahrung|devis|moneda|валюта|货币|币种|通貨|통화
tax|vat|steuer|impot|impuesto|налог|세금
order|purchas|bestellung|command|pedido|заказ|订单|注文|주문
cart|basket|shop cart|warenkorb|panier|carrito|корзина|购物 物车|カー ート|장바 바구 구니
product|item|articl|good|produkt|ware|produit|producto|товар|продукт|商品|产品|製品|상품|제품
stock|inventori|warehous|lager|bestand|inventair|inventario|склад|库存|在庫|재고
deliveri|ship|shipment|dispatch|lieferung|versand|livraison|expedit|envio|entrega|доставка|配送|发货|配達|出荷|배송
custom|client|buyer|consum|tenant|kund|acheteur|comprador|клиент|покупатель|客户|顧客|お客 客様|고객
tenant|custom|organis|workspac|mandant|locatair|inquilino|租户|テナ ナン ント|테넌 넌트
vendor|supplier|provid|third parti|liefer|anbiet|fournisseur|proveedor|поставщик|供应 应商|厂商|ベン ンダ ダー|공급 급업 업체
contract|agreement|vertrag|contrat|contrato|договор|контракт|合同|契約|계약
legal|law|complianc|recht|rechtlich|juridiqu|юридическии|法律|法務|법무
privaci|data protect|gdpr|datenschutz|confidentialit|vie prive|privacidad|конфиденциальность|隐私|プラ ライ イバ バシ シー|개인 인정 정보
secur|safeti|sicherheit|securit|seguridad|безопасность|安全|セキ キュ ュリ リテ ティ|보안
vulner|cve|exploit|weak|schwachstel|sicherheitsluck|vulnerabilit|faill|vulnerabilidad|уязвимость|漏洞|脆弱 弱性|취약 약점
attack|breach|hack|angriff|attaqu|ataqu|атака|взлом|攻击|攻撃|공격
permiss|access|role|right|privileg|zugriff|zugriffsrecht|roll|acc|droit|acceso|rol|доступ|роль|访问|角色|アク クセ セス|ロー ール|접근|역할
audit|audit log|audit trail|prufprotokol|auditoria|аудит|审计|監査|감사
retent|keep|retain|expiri|aufbewahrung|conserv|retencion|conservacion|хранение|срок хранения|保留|保存 存期 期間|保管|보관|보존
expir|expiri|ttl|lifetim|valid|ablauf|gultigkeit|dure de vie|caducidad|vencimiento|истечение|срок деиствия|过期|有效 效期|有効 効期 期限|만료
delet|remov|eras|purg|drop|wipe|entfernen|effac|enlev|quitar|стереть|移除|清除|消去|제거
add|creat|new|insert|hinzufugen|erstellen|anlegen|ajout|creer|anadir|agregar|crear|добавить|создать|添加|新建|创建|追加|作成|추가|생성
chang|modifi|edit|alter|updat|andern|anderung|bearbeiten|changer|cambiar|modificar|editar|изменить|изменение|修改|变更|変更|編集|변경|수정
replac|swap|switch|substitut|supersed|ersetzen|ablosen|remplac|reemplazar|sustituir|заменить|замена|替换|取代|置き き換 換え|交換|교체|대체
remov|deprec|retir|sunset|obsolet|veraltet|depreci|obsoleto|устаревшии|弃用|废弃|非推 推奨|廃止|폐기
start|begin|launch|boot|startup|starten|beginnen|demarr|lancer|commenc|iniciar|empezar|arrancar|запуск|запустить|начать|启动|开始|起動|開始|시작
stop|halt|shutdown|shut down|termin|kill|end|anhalten|beenden|arret|deten|parar|остановить|завершить|停止|关闭|終了|중지|종료
run|execut|launch|invok|ausfuhren|lancer|ejecutar|correr|выполнить|запускать|运行|执行|実行|실행
build|compil|bundl|make|bauen|kompilieren|construir|compilar|сборка|собрать|构建|编译|ビル ルド|빌드
bundler|webpack|vite|esbuild|rollup|build tool
packag manag|npm|yarn|pnpm|pip|poetri|uv|cargo
instal|setup|set up|installieren|einrichten|einrichtung|instalar|configurar|установка|установить|安装|イン ンス スト トー ール|セッ ット トア アッ ップ|설치
upgrad|updat|bump|migrat|aktualisieren|mettr a niveau|actualizar|обновить|升级|アッ ップ プグ グレ レー ード|업그 그레 레이 이드
enabl|activ|turn on|switch on|aktivieren|einschalten|activar|habilitar|включить|启用|开启|有効 効化|활성 성화
disabl|deactiv|turn off|switch off|deaktivieren|abschalten|ausschalten|desactiv|desactivar|deshabilitar|отключить|禁用|关闭|無効 効化|비활 활성 성화
allow|permit|enabl|erlauben|erlaubt|autoris|permettr|permi|permitir|разрешить|允许|許可|허용
forbid|forbidden|prohibit|ban|never|not allow|disallow|verbieten|verboten|untersagt|interdit|interdir|defendu|prohibido|prohibir|запрещено|запретить|нельзя|禁止|不允 允许|不得|금지
must|requir|mandatori|obligatori|alway|pflicht|verpflichtend|erforderlich|obligatoir|requi|obligatorio|requerido|обязательно|必须|必要|必須|필수
avoid|do not us|instead of|vermeiden|evit|evitar|избегать|避免|避け ける|피하 하다
prefer|favourit|favorit|like|choos|bevorzugt|bevorzugen|liebl|favori|preferido|favorito|preferir|предпочитать|любимыи|偏好|喜欢|最喜 喜欢|好き|お気 気に に入 入り|좋아 아하 하는|선호
choos|decid|decis|pick|select|wahl|entscheidung|entschieden|choix|choisir|eleccion|elegir|decidir|решение|решили|выбрать|决定|选择|選択|決定|결정|선택
reason|whi|becaus|caus|rational|grund|begrundung|ursach|raison|motif|razon|motivo|causa|причина|原因|理由|이유
problem|issu|troubl|difficulti|problema|проблема|问题|問題|문제
solut|answer|workaround|losung|umgehung|contourn|solucion|решение|解决 决方 方案|解決 決策|回避 避策|해결
goal|aim|object|target|ziel|objectif|objetivo|meta|цель|目标|目標|목표
open question|unknown|unclear|undecid|tbd|offen|unklar|question ouvert|inconnu|pendient|неясно|未定|待定|미정
todo|to do|open task|outstand|offen aufgab|a fair|por hacer|pendient|待办|やる るこ こと|할 일
done|finish|complet|erledigt|fertig|abgeschlossen|termin|fini|fait|hecho|terminado|completado|готово|сделано|завершено|完成|已完 完成|完了|완료
featur flag|toggl|featur toggl|launchdarkli|unleash|switch|特性 性开 开关|功能 能开 开关|フィ ィー ーチ チャ ャー ーフ フラ ラグ
experi|a b test|ab test|split test
search|find|lookup|look up|elasticsearch|opensearch|such|suchen|recherch|chercher|busqueda|buscar|поиск|наити|搜索|检索|検索|검색
sort|order|sortierung|ordenacion|сортировка|排序|並び び替 替え|ソー ート|정렬
filter|filtern|filtr|filtrar|фильтр|过滤|筛选|フィ ィル ルタ|필터
pagin|page|page size|cursor|seitenweis|paginacion|пагинация|分页|ペー ージ ジネ ネー ーシ ショ ョン|페이 이지 지네 네이 이션
event|ereigni|even|evento|событие|事件|イベ ベン ント|이벤 벤트
notif|push|alert|messag|remind|erinnerung|rappel|recordatorio|напоминание|提醒|リマ マイ イン ンダ ダー|알림
chat|slack|team|messeng|channel|kanal|canal|канал|чат|频道|チャ ャン ンネ ネル|チャ ャッ ット|채널|채팅
newslett|mail|mail campaign
translat|local|i18n|ubersetzung|traduct|traduccion|перевод|翻译|翻訳|번역
architectur|design|structur|architektur|aufbau|arquitectura|архитектура|架构|アー ーキ キテ テク クチ チャ|아키 키텍 텍처
microservic|servic|微服 服务|マイ イク クロ ロサ サー ービ ビス|마이 이크 크로 로서 서비 비스
monolith|singl servic
librari|framework|depend|modul
framework|rahmenwerk|cadr|фреимворк|框架|フレ レー ーム ムワ ワー ーク|프레 레임 임워 워크
languag|program languag|write in|programmiersprach|langag|lenguaj de programacion|язык программирования|编程 程语 语言|プロ ログ グラ ラミ ミン ング グ言 言語
editor|id|vim|neovim|vscode|emac|editeur|редактор|编辑 辑器|エデ ディ ィタ|편집 집기
shell|bash|zsh|termin|consol|终端|ター ーミ ミナ ナル|터미 미널
script|autom|makefil|skript|automatisierung|automatis|automatizacion|скрипт|脚本|スク クリ リプ プト|스크 크립 립트
model|llm|gpt|claud|modelo|модель|模型|モデ デル|모델
embed|vector|vektor|vecteur|вектор|向量|ベク クト トル|벡터
train|fine tune|finetun|训练|学習|학습
dataset|data set|data|datensatz|jeu de donne|conjunto de dato|датасет|数据 据集|デー ータ タセ セッ ット|데이 이터 터셋
report|analyt|bericht|auswertung|rapport|inform|отчет|报表|报告|レポ ポー ート|報告 告書|보고 고서
warehous|bigqueri|snowflak|redshift|data warehous|analyt|数仓|数据 据仓 仓库
healthcheck|health check|live|readi|heartbeat|probe|ping|健康 康检 检查|ヘル ルス スチ チェ ェッ ック|헬스 스체 체크
uptim|avail|sla|verfugbarkeit|disponibilit|disponibilidad|доступность|可用 用性|稼働 働率|가용 용성
mainten|downtim window|mainten window|wartung|wartungsfenst|entretien|mantenimiento|обслуживание|维护|メン ンテ テナ ナン ンス|保守|점검|유지 지보 보수
redund|failov|fallback|backup server|ausfallsicherheit|bascul|conmutacion por error|отказоустоичивость|故障 障转 转移|容灾|フェ ェイ イル ルオ オー ーバ バー|장애 애 조치
concurr|race condit|race|deadlock
transact|atom|commit|acid
idempot|dedupl|duplic
pool|connect pool|pgbouncer|verbindungspool
batch|bulk|chunk|stapel|lot|lote|пакетная обработка|批量|批处 处理|バッ ッチ|배치
compress|gzip|zstd|brotli|komprimierung|compres|сжатие|压缩|圧縮|압축
minifi|compress|bundl size
memori leak|leak|oom|out of memori|speicherleck|fuit de memoir|fuga de memoria|утечка памяти|内存 存泄 泄漏|メモ モリ リリ リー ーク|메모 모리 리 누수
garbag collect|gc|collector
benchmark|load test|perform test|stress test|lasttest|test de charg|prueba de carga|нагрузочныи тест|压测|负载 载测 测试|負荷 荷テ テス スト|ベン ンチ チマ マー ーク|부하 하 테스 스트
profil|flamegraph
refactor|clean up|cleanup|rewrit|restructur|umbau|aufraumen|refactoris|refactorizacion|рефакторинг|重构|リフ ファ ァク クタ タリ リン ング|리팩 팩토 토링
debug|troubleshoot|diagnos|fehlersuch|debogag|depuracion|отладка|调试|デバ バッ ッグ|디버 버깅
document|readm|wiki|confluenc|notion|manual|handbook|guid|handbuch|anleitung|manuel|guia|руководство|手册|说明|マニ ニュ ュア アル|手順 順書|매뉴 뉴얼|설명 명서
onboard|introduct|einarbeitung|integr|incorporacion|адаптация|入职|オン ンボ ボー ーデ ディ ィン ング|온보 보딩
support|help|helpdesk|help desk|hilf|unterstutzung|aid|assist|soport|ayuda|поддержка|помощь|支持|客服|サポ ポー ート|지원|고객 객센 센터
feedback|comment|ruckmeldung|retour|commentair|comentario|отзыв|反馈|フィ ィー ード ドバ バッ ック|피드 드백
requir|need|anforderung|exig|besoin|requisito|требование|需求|要件|요구 구사 사항
estim|effort|stori point|schatzung|aufwand|estimacion|оценка|估算|見積 積も もり|견적
prioriti|urgenc|sever|prioritat|priorit|prioridad|приоритет|优先 先级|優先 先度|우선 선순 순위
version control|git|vc|scm
artifact|artefact|build output|registri|imag registri
registri|contain registri|artifactori|packag index
credenti|login data|usernam and password
certif|tl|ssl|letsencrypt|let s encrypt
queue|backlog
worker|consum|subscrib|celeri|sidekiq
produc|publish|emitt
consum|subscrib|listen
daemon|background process|servic|hintergrundprozess
process|procedur|workflow|ablauf|vorgehen|processu|proceso|процесс|流程|プロ ロセ セス|手順|절차
environ variabl|env var|dotenv|umgebungsvari|variabl d environn|variabl de entorno|环境 境变 变量|環境 境変 変数|환경 경 변수
default|standard|preset|standardwert|voreinstellung|par defaut|por defecto|predeterminado|по умолчанию|默认|デフ フォ ォル ルト|既定|기본 본값
size|length|dimens|gross|lang|taill|longueur|tamano|longitud|размер|длина|大小|长度|サイ イズ|長さ|크기|길이
count|number|how mani|anzahl|nombr|cantidad|число|количество|数目|个数|個数|개수
date|day|datum|jour|fecha|dia|дата|день|日期|日付|날짜
time|hour|uhrzeit|zeit|heur|temp|hora|tiempo|время|时间|時間|시간
weekli|everi week|wochentlich|hebdomadair|chaqu semain|seman|cada semana|еженедельно|每周|毎週|매주
daili|everi day|nightli|taglich|quotidien|chaqu jour|diario|cada dia|ежедневно|每天|毎日|매일
monthli|everi month|monatlich|mensuel|chaqu moi|mensual|cada me|ежемесячно|每月|毎月|매월
morn|morgen|matin|manana|утро|早上|上午|午前|아침|오전
even|night|abend|nacht|soir|nuit|noch|вечер|ночь|저녁
hous|home|flat|apart|wohnung|hau|maison|appart|casa|piso|квартира|дом|房子|公寓|自宅|アパ パー ート|아파 파트
car|automobil|vehicl|auto|wagen|fahrzeug|voitur|vehicul|coch|vehiculo|машина|автомобиль|汽车|自動 動車|자동 동차
train|railway|bahn|zug|gare|tren|поезд|火车|高铁|電車|기차
flight|plane|airport|flug|flughafen|avion|aeroport|vuelo|aeropuerto|самолет|реис|аэропорт|航班|飞机|机场|飛行 行機|空港|비행 행기|공항
doctor|physician|dentist|arzt|arztin|medecin|medico|врач|医生|医者|病院|의사|병원
kid|child|son|daughter|kind|kinder|enfant|hijo|hija|nino|ребенок|дети|孩子|子供|아이|자녀
wife|husband|spous|partner|frau|mann|femm|mari|esposa|esposo|жена|муж|妻子|丈夫|老婆|老公|아내|남편
birthday|geburtstag|anniversair|cumpleano|день рождения|生日|誕生 生日|생일
food|meal|dish|lunch|dinner|essen|gericht|repa|plat|comida|plato|cena|еда|обед|ужин|吃饭|午饭|晚饭|食事|昼食|夕食|음식|점심|저녁 녁 식사
allergi|allerg|intoler|allergisch|allergiqu|alergia|alergico|аллергия|过敏|アレ レル ルギ ギー|알레 레르 르기
movi|film|cinema|kino|pelicula|cine|фильм|кино|电影|映画|영화
buy|purchas|kaufen|gekauft|achet|comprar|купить|购买|買う|購入|사다|구매
job|work|occup|profess|career|beruf|arbeit|metier|travail|trabajo|работа|профессия|工作|职业|仕事|職業|직업
live|resid|wohnen|wohnt|habit|vivr|vivir|жить|居住|住む|살다|거주
hobbi|pastim|loisir|pass temp|aficion|freizeit|хобби|увлечение|爱好|喜欢|兴趣|有空|趣味|好き|休日|취미|좋아 아하 하는|좋아 아해|즐겨
phone number|telephon number|mobil number|contact number|phone|numero de telephon|telefonnumm|handynumm|rufnumm|numero de telefono|номер телефона|手机 机号|手机 机号 号码|电话 话号 号码|联系 系电 电话|联系 系方 方式|电话|怎么 么联 联系|電話 話番 番号|連絡 絡先|携帯 帯番 番号|携帯|전화 화번 번호|연락 락처|휴대 대폰 폰 번호
home town|hometown|lieu de naissanc|heimatort|wohnort|ciudad natal|родом|住在|家在|老家|住址|居住|家乡|哪里 里人|住哪|搬到|住ま まい|在住|出身|実家|自宅|사는|거주|고향|집은|살고
degre|graduat|diploma|univers degre|diplom|abschluss|studium|titulacion|estudio|образование|диплом|学历|学位|毕业|本科|硕士|博士|大专|学歴|卒業|大学|修士|학력|졸업|학위|석사|박사
height|tall|centimetr|centimet|cm|taill|korpergross|gross|altura|estatura|рост|身高|多高|厘米|身長|セン ンチ|背の の高 高さ|신장|센티
ag|year old|how old|alter|jahr alt|edad|ano|возраст|лет|年龄|年纪|多大|几岁|今年|岁数|年齢|何歳|年上|나이|몇 살|연세
employ|compani|firm|entrepris|societ|arbeitgeb|firma|unternehmen|empresa|empleador|компания|работодатель|公司|单位|上班|工作 作单 单位|就职|任职|跳槽|勤務 務先|勤め|会社|職場|회사|직장|근무|다니 니는
profess|occup|job titl|posit|metier|beruf|profes|профессия|должность|职业|工作|岗位|职位|做什 什么 么的|职务|職業|仕事|職種|役職|직업|직책|하는 는 일
birthday|born|date of birth|birth date|anniversair|ne le|geburtstag|geboren|cumpleano|nacimiento|день рождения|родился|生日|过生 生日|出生|誕生 生日|生ま まれ|생일|태어 어난
appoint|rendezv|rendez vou|verabredung|treffen|cita|encuentro|встреча|见面|约会|聚会|碰头|待ち ち合 合わ わせ|会う|約束|약속|만나
celebr|gather|fete|feier|fiesta|праздник|聚会|派对|庆祝|パー ーテ ティ ィー|お祝 祝い|파티|모임
trip|journey|voyag|reis|viaj|поездка|путешествие|旅行|旅游|出差|行程|出張|여행|출장
exercis|workout|gym|sport|fit|train|entrain|ejercicio|спорт|тренировка|锻炼|健身|运动|跑步|運動|ジム|運動 動す する|운동|헬스
pet|puppi|kitten|haustier|hund|katz|anim de compagni|chien|chat|mascota|perro|gato|питомец|собака|кошка|宠物|小狗|猫咪|ペッ ット|반려 려동 동물|강아 아지|고양 양이
medicin|medic|medica|medika|arznei|medicamento|лекарство|药物|吃药|服药|お薬|薬を|복용
price|cost|combien|wie viel|cuanto|сколько стоит|多少 少钱|价格|花了|块钱|いく くら|値段|円で|얼마|가격
address|street|venu|地点|地址|位置|在哪|場所|所在 在地|장소|위치
carrier|ship compani|courier|parcel servic|transporteur|spediteur|paketdienst|versanddienstleist|transportista|mensajeria|up|dhl|fedex
parcel|packag|shipment|coli|paket|sendung|paquet|envio|посылка|包裹|快递|荷物|택배
permit|allow|admiss|valid|zulassig|erlaubt|gestattet|autoris|permi|admitido|permitido
not allow|forbidden|must not|may not|never|no|nur|unzulassig|verboten|darf nicht|ne jamai|jamai|interdit|nunca|prohibido|no se
onli|exclus|sole|nur|ausschliesslich|seulement|uniqu|exclusiv|solo|unicament|только|のみ|だけ
anonym|anonymis|pseudonym|pseudonymis|mask|redact|unkenntlich|anonymisiert|pseudonymisiert|maskiert|maskierung|masquer|anonimizar|enmascarar|seudonimizar
report|evalu|analyt|auswertung|auswertungen|bericht|rapport|etat|inform
bi|busi intellig|dashboard|metabas|tableau|power bi|looker|superset
approv|sign off|consent|agre|freigab|genehmigung|zustimmung|zustimmen|genehmigen|accord|valid|approuv|aprobacion|visto bueno|aprobar
durat|how long|how much time|day|week|month|dauer|wie lang|tage|dure|combien de temp|delai|jour|duracion|cuanto tiempo|cuanto tarda|dia|plazo
refund|reimburs|money back|return|devolucion|reembolso|rembours|retour|ruckerstattung|ruckzahlung|erstattung
chargeback|disput|contracargo|ruckbuchung|ruckbelastung|retrofactur|impay
close|expir|laps|caduca|caducar|cierra|cerrar|cierr|schliessen|schliesst|abgelaufen|fermer|fermetur
sandbox|test environ|simul|test mode|stage|entorno de prueba|simulador|testumgebung|abnahmeumgebung|bac a sabl|environn de recett|recett
forecast|predict|project|prognos|vorhersag|previs|predir|pronostico|pronosticar|predecir
sale|revenu|turnov|umsatz|verkauf|absatz|vent|chiffr d affair|venta|ingreso
purchas|order|checkout|buy|achat|kauf|bestellen|compra
buyer|shopper|purchas|custom|kaufer|acheteur|comprador|acheteus
account|bookkeep|ledger|comptabilit|comptabl|buchhaltung|buchfuhrung|contabilidad|contabl
archiv|retain|retent|keep|archivieren|archivierung|archivag|conserv|archivar|archivado|conservar
protect|encrypt|secur|proteg|protege|chiffr|chiffre|geschutzt|verschlusselt|protegido|cifrado|cifrada
purg|invalid|flush|evict|vider|leeren|loschen|invalidieren|invalidar|purgar|vaciar
cach|antememoir|memoir tampon|zwischenspeich|memoria cach
out of stock|low stock|stockout|shortag|ruptur|ruptur de stock|penuri|ausverkauft|nachbestellen|sin existencia|agotado
threshold|limit|minimum|from how mani|seuil|quantit|schwell|schwellwert|schwellenwert|umbral
imag|photo|pictur|bilder|foto|clich|imagen|照片|写真|사진
comment|review|rate|opinion|avi|commentair|note|bewertung|bewertungen|rezens|resena|valoracion
moder|review|relir|moderieren|prufen|moderacion|moderar
publish|appear|public|paraitr|publier|veroffentlichen|erscheinen|publicar|publicacion|aparec
price|tariff|fee|rate|tarif|prix|prei|gebuhr|tarifa|precio
viru|malwar|viru scan|clamav|antiviru|schadsoftwar|virenscan|virenscann|logiciel malveil|programa malicioso
wifi|wi fi|wlan|wireless|funknetz|reseau san fil|inalambrico|offlin|connect|san reseau|hor lign|sin conexion|ohn netz
cutoff|deadlin|latest|no later than|annahmeschluss|schluss|spatesten|heur limit|au plu tard|hora limit|a ma tardar
same day|today|heut|noch am selben tag|le jour meme|aujourd hui|el mismo dia|hoy
formal|inform|address|tone|duzen|siezen|gesiezt|geduzt|anred|tutoy|vouvoy|tutoiement|vouvoiement|tutear|ust|tuteo
idempot|twice|doubl charg|duplic|doppelt|zweimal|deux foi|doublon|do vece|duplicado|repetido|idempotencia|cle d idempot
amount|money|sum|cent|integ|import|dinero|centimo|montant|argent|centim|betrag|geld
decim|float|float point|fraction|round|dezim|kommazahl|gleitkomma|rundung|arrondi|virgul flottant|decimal|redondeo|coma flotant
holiday|weekend|sunday|feiertag|wochenend|sonntag|jour feri|week end|dimanch|festivo|fin de semana|domingo|labor
answer|repli|respond|respons|antworten|antwort|beantworten|repondr|repons|contestar|respuesta
experi|a b test|ab test|split test|prueba a b|experimento|versuch
bank|banqu|banco|银行|銀行|은행
confirm|strong custom authent|sca|3 d secur|3ds|bestatigung|bestatigen|confirmacion|confirmar
card|credit card|debit card|kart|kreditkart|cart|cart bancair|tarjeta|carta|银行 行卡|信用 用卡|カー ード|카드
lead|head of|direct|leitung|leitet|leiter|leiterin|dirig|dirigir|directora|director|directeur|directric
handl|manag|take care|in charg|look after|kummert|betreut|bearbeitet|s occup|gere|gerer|gestiona|gestionan|se encarga|atiend
who|person|contact|name|ansprechpartn|kontakt|interlocuteur|contacto
host|run on|deploy on|heberg|heberge|gehostet|betrieben|alojado|alojada|aloja|alojamiento
write in|program languag|implement in|build with|geschrieben|code en|ecrit en|escrito en|programado
librari|sdk|toolkit|packag|werkzeug|outil|herramienta|tool
tool|softwar|product|program|werkzeug|outil|logiciel|herramienta|programa|инструмент|工具|ツー ール|도구
orchestr|workflow engin|schedul|dagster|airflow|tempor|argo|prefect|orchestrierung|orquestador
load|ingest|import|etl|laden|beladung|chargement|charger|carga|cargar|ingesta
raw data|rohdaten|donne brute|dato en bruto|dato crudo|raw event|singl event|einzelereigniss
aggreg|summari|rollup|aggregat|agregat|agregado
schema registri|avro|protobuf|schema|schemata|esquema
compat|backward compat|abwartskompatibel|retrocompat|compat hacia atra|break chang
queri|scan|abfrag|abfragen|requet|consulta
volum|size|amount of data|gb|terabyt|volumen|datenmeng|meng|volum de donne|volumen de dato
downtim|error budget|slo|unavail|uptim|ausfallzeit|indisponibilit|inactividad
latenc|p95|p99|percentil|respons time|millisecond
month|monthli|a month|monat|monatlich|moi|mensuel|me|mensual
tax includ|gross|ttc|brutto|con iva|iva incluido|tout tax compris|inklus mehrwertsteu
tax exclud|net|ht|netto|sin iva|hor tax|ohn mehrwertsteu
user|visitor|member|utilisateur|visiteur|internaut|besuch|nutzer|visitant|usuario
team lead|tech lead|engin manag|teamleit|chef d equip|respons tecnico
deploy|rollout strategi|canari|blue green|progress deliveri|kanarienvogel
approv chang|four ey|two review|vier augen|quatr yeux|cuatro ojo
secret rotat|rotat|rotieren|erneuern|renouvel|rotar|renovar|renew
version|releas|semver|versionierung|versionnag|versionado
error|failur|fail|break|fehlschlag|fehlgeschlagen|echec|echou|fallo|falla
alert|threshold|warn|notifi|prevenu|prevenir|avertir|benachrichtigen|gewarnt|avisar|aviso|alerta
access|wcag|screen reader|contrast|bitv|rgaa|barrierefrei|kontrast|acces
browser support|support browser|oldest browser
offlin|no network|without network|disconnect|ohn verbindung|hor connexion|sin red
store|shop|branch|filial|geschaft|laden|magasin|boutiqu|tienda|sucurs|магазин|店铺|门店|店舗|매장
warehous|depot|lagerhal|hall|hangar|entrepot|almacen|nave|仓库|倉庫|창고
scanner|barcod|barcod scanner|handheld|strichcod|code barr|lecteur|codigo de barra|escan
print|printer|label printer|drucken|drucker|imprim|imprimant|imprimir|impresora
robot|driverless|autonom|agv|fahrerlo|robot autonomo
measur|track|analyt|matomo|plausibl|amplitud|messen|suivi|mesur|medicion|seguimiento
consent|cooki banner|opt in|einwilligung|consentimiento
ag limit|minimum ag|adult|altersgrenz|mindestalt|ag minimum|edad minima
open hour|busi hour|offnungszeiten|geschaftszeiten|heur d ouvertur|horario de atencion|horario comerci
phone|devic|handset|gerat|endgerat|appareil|telephon|dispositivo
push notif|push|apn|fcm|firebas messag
map|geoloc|locat|kart|cart|mapa|standort|geolocalis|geolocalizacion
translat|localis|languag|sprachen|langu|idioma|local
speed|respons|budget|page weight|web vital|ladezeit|temp de chargement|tiempo de carga
dead letter|dlq|poison messag|fail messag|dead letter queue
renam|umbenannt|umbenennen|renomm|renombrar
signatur|sign|signieren|signer|firma|firmar
electron invoic|e invoic|factur x|xrechnung|zugferd|factura|factur electroniqu|factura electronica
dun|remind|overdu|late payment|mahnung|mahnwesen|zahlungserinnerung|relanc|impay|recordatorio de pago|moroso
direct debit|sepa|lastschrift|prelev|domiciliacion|adeudo
instal|buy now pay later|ratenzahlung|raten|paiement en plusieur foi|pago aplazado|a plazo|cuota
gift card|voucher|coupon|promo code|discount|rabatt|gutschein|chequ cadeau|bon d achat|remis|reduct|code promo|tarjeta regalo|vale|descuento|cupon|优惠 惠券|折扣|割引|クー ーポ ポン|할인|쿠폰
wishlist|favourit|save item|merklist|wunschlist|list d envi|lista de deseo
loyalti|point|reward|treuepunkt|bonusprogramm|fidelit|fidelidad|punto
us|utilis|utilison|emploi|nutzen|nutzt|genutzt|benutzt|verwenden|verwendet|einsetzen|eingesetzt|usar|usa|usan|usamo|utiliza|utilizan|utilizar|используем|использовать|используется|使用|用的|使う|利用|사용
store|keep|save|hold|stocker|stock|stocke|conserv|enregistr|speichern|gespeichert|ablegen|abgelegt|aufbewahrt|guardar|guarda|guardan|almacenar|almacena|guardado|хранить|хранится|хранятся|保存|存放|存储|保管|저장|보관
send|transmit|deliv|emit|envoy|envoi|transmi|senden|sendet|gesendet|schicken|verschickt|versandt|enviar|envia|envian|enviado|отправлять|отправляется|发送|送信|전송|발송
receiv|get|accept|recevoir|recoit|recu|empfangen|erhalten|bekommen|recibir|recib|recibido|получать|接收|收到|受信|受け け取 取る|수신
write|author|redig|ecrir|ecrit|schreiben|geschrieben|verfassen|escribir|escrib|escrito|redactar|编写|撰写|書く|작성
read|consult|lire|lit|lu|lesen|liest|gelesen|leer|lee|leido|读取|読む|읽기
call|invok|trigger|fire|appel|declench|aufrufen|auslosen|ausgelost|llamar|disparar|invocar|запускает|触发|调用|呼び び出 出し|起動|호출
check|verifi|control|inspect|pruft|gepruft|prufung|kontrol|kontrolliert|comprueba|comprobar|revisa|verifica|проверять|проверяет|проверяется|检查|確認|点検|확인|점검
count|inventori|stocktak|compter|compt|inventair|zahlen|gezahlt|zahlung|inventur|contar|recuento|inventario
calcul|comput|berechnen|berechnet|calcular|calcula|calculado|计算|計算|계산
assign|alloc|attribu|affect|zuweisen|zugewiesen|zuordnen|asignar|asignado|asigna|分配|割り り当 当て|할당
block|reject|refus|deni|bloquer|bloqu|rejet|blockieren|gesperrt|sperren|ablehnen|abgelehnt|abgewiesen|bloquear|bloqueado|rechazar|rechazado|блокировать|拒绝|阻止|ブロ ロッ ック|拒否|차단|거부
share|partag|commun|teilen|geteilt|gemeinsam|compartir|compartido|comun|общии|共享|共有|공유
split|separ|divid|divis|aufteilen|trennen|getrennt|aufgeteilt|dividir|separar|separado|拆分|分割|분리|분할
combin|join|union|aggreg|joindr|regroup|kombinieren|verbinden|zusammenfassen|combinar|unir|agrupar
convert|transform|convers|convertir|umwandeln|umrechnen|konvertieren|transformar|转换|変換|변환
copi|duplic|replic|copier|kopieren|kopi|kopien|copiar|copia|копия|копии|复制|コピ ピー|複製|복사|복제
move|reloc|switch to|deplac|demenag|passer a|verschieben|umziehen|umgezogen|wechseln|mover|trasladar|pasar a|переехали|迁到|搬到|移動|移す|이동
wait|pend|attendr|attend|attent|warten|wartet|wartezeit|esperar|espera|pendient|ждать|等待|待つ|待機|대기
show|display|visibl|affich|montrer|montr|anzeigen|angezeigt|zeigen|zeigt|sichtbar|mostrar|muestra|muestran|показывать|显示|展示|表示|표시
hide|invis|conceal|masquer|cach|cacher|verbergen|ausblenden|versteckt|ocultar|oculto|скрыть|隐藏|非表 表示|숨김
open|ouvrir|ouvert|offnen|geoffnet|abrir|abierto|открыть|打开|開く|열기
contact|reach|ask|call|inform|joindr|demand|kontaktieren|erreichen|fragen|wenden|contactar|preguntar|avisar|связаться|联系|連絡|연락
respons|own|owner|maintain|lead|verantwortet|zustandig|leitet|betreut|s occup|pilot|maintient|encargado|encargada|lleva|mantien|отвечает|负责|担当|담당
cost|budget|spend|price|cap|cout|plafond|kostet|kosten|obergrenz|cuesta|presupuesto|tope|бюджет|费用|预算|予算|費用|예산|비용
last|take|durat|durer|dure|dauern|dauert|tardar|tarda|dura|durar|длится|持续|多久|かか かる|続く|걸리 리는
often|frequenc|interv|how often|how frequent|everi|rhythm|combien de foi|tou le|chaqu|haufigkeit|wie oft|all|jeden|einmal|frecuencia|cada cuanto|cada|как часто|каждыи|каждые|多久 久一 一次|频率|頻度|ごと|주기|마다
fail|failur|break|down|echouer|echou|pann|tomb|ausfallen|fallt au|scheitern|fehlschlagen|fallar|falla|caer|cae|упал|失败|失敗|실패
protect|prevent|guard|avoid|proteg|empech|evit|schutzen|schutzt|verhindern|vermeiden|evitar|prevenir|impedir|защитить|防止|保护|防ぐ|保護|방지
measur|track|target|goal|mesur|objectif|cibl|messen|gemessen|zielwert|medir|objetivo|meta
grow|increas|rais|higher|more|augment|hauss|erhohen|steigen|mehr|aumentar|subir|ma|увеличить|增加|提高|増や やす|증가
shrink|decreas|reduc|lower|less|fewer|reduir|diminu|baisser|moin|verringern|senken|reduzieren|wenig|reducir|disminuir|bajar|meno|уменьшить|减少|降低|減ら らす|감소
oldest|earliest|first|minimum version|plu ancien|premier|altest|erst|mindestvers|ma antigua|primera|version minima
newest|latest|current|last|recent|dernier|actuel|neuest|aktuel|letzt|jungst|ultimo|ultima|actual|recient|последнии|текущии|最新|最近|現在|최신|현재
main|primari|princip|central|head|hauptsachlich|zentral|haupt|principal|главныи|основнои|主要|メイ イン|주요|메인
extern|outsid|third parti|vendor|exterieur|tier|drittanbiet|externo|tercero|внешнии|外部|第三 三方|외부
intern|insid|in hous|own|eigen|hauseigen|interno|propio|внутреннии|内部|社内|내부
automat|autom|auto|automatiqu|automatisch|automatisiert|automatico|automaticament|автоматически|自动|自動|자동
manual|by hand|manuel|a la main|von hand|handisch|a mano|manualment|вручную|手动|手作 作業|手動|수동
free|grati|at no cost|gratuit|kostenlo|frei|gratuito|бесплатно|免费|無料|무료
small|short|tini|littl|petit|court|klein|kurz|pequeno|corto|маленькии|короткии|短い|작은
larg|big|long|huge|grand|gro|lang|gross|largo|большои|大型|長い
safe|secur|sur|securis|sicher|seguro|безопасно|安全|안전
forbidden|ban|prohibit|no longer|drop|abandon|remov|plu utilis|abandonn|supprim|nicht mehr|abgeschafft|entfernt|ya no|eliminado|abandonado|retirado|больше не|不再|停用|やめ めた|廃止|더 이상
instead|replac|rather than|successor|au lieu|a la place|remplac|statt|stattdessen|anstel|ersetzt|nachfolg|en lugar|en vez|reemplaza|sustituy|sustituido|вместо|改用|代替|取代|代わ わり|대신
except|unless|apart from|exempt|sauf|exoner|dispens|ausser|ausgenommen|ausnahm|excepto|salvo|exento|кроме|除了|例外|除く|제외
befor|prior|earlier|beforehand|avant|prealabl|auparav|vor|vorher|zuvor|ant|previo|перед|之前|前に|이전
after|later|afterward|follow|apr|ensuit|nach|danach|nachher|despu|luego|posterior|после|之后|後に|이후
night|nightli|overnight|nuit|nocturn|nacht|nachtlich|noch|nocturno|ночью|夜间|凌晨|夜間|야간|심야
place|where|locat|site|seat|lieu|emplac|sieg|standort|ort|platz|sitz|lugar|ubicacion|sede|место|位置|地点|場所|위치
citi|town|vill|stadt|ciudad|город|城市|都市|도시
countri|nation|pay|land|pai|страна|国家|국가|나라
street|road|rue|strass|call|улица
build|floor|hall|batiment|etag|gebaud|stockwerk|edificio|planta|piso|здание|этаж
door|entranc|access card|badg|port|entre|tur|eingang|zugangskart|puerta|entrada|tarjeta de acceso|门禁|入口|出入 入口|출입
devic|hardwar|equip|appareil|materiel|gerat|ausstattung|dispositivo|equipo|устроиство|设备|機器|デバ バイ イス|端末|장비|기기
sensor|probe|detector|capteur|fuhler|messfuhl
key rotat|rotat key|schlusselwechsel|rotat de cle|rotacion de clave
data|record|inform|donne|daten|dato|данные|数据|デー ータ|데이 이터|자료
member|particip|person|membr|personn|mitgli|mitglied|leut|personen|miembro|gent|persona|участник|люди|成员|人员|メン ンバ バー|멤버|구성 성원|인원
child project|submodul|subproject|sou modul|untermodul|submodulo
releas cadenc|releas cycl|releas day|jour de livraison|releasetag|releasezyklu|ciclo de version
code owner|codeown|respons du code
translat|localis|traduct|traduir|traduit|ubersetzung|ubersetzen|ubersetzt|traduccion|traducir|traducido
train|cours|workshop|format|schulung|kur|formacion|curso|taller|обучение|培训|研修|교육
law|regul|rule|statut|loi|reglement|gesetz|verordnung|vorschrift|ley|reglamento|normativa|закон|法规|法令|법률|규정
author|govern|ministri|agenc|public bodi|autorit|administr|behord|amt|ministerium|autoridad|administracion|organismo|政府|機関|기관
citizen|resid|public|citoyen|burger|burgerin|ciudadano|ciudadana
applic form|applic|request form|formulair|demand|antrag|formular|solicitud|formulario|申请|申請|신청
statu|state|progress|etat|statut|avanc|zustand|stand|fortschritt|estado|progreso|статус|состояние|状态|进度|状態|進捗|상태|진행
histori|past|former|previous|historiqu|ancien|auparav|verlauf|fruher|ehem|anterior|ant|история|раньше|历史|以前|履歴|이력|이전
ship|vessel|boat|navir|schiff|barco
truck|lorri|van|camion|lkw|lastwagen|furgoneta
school|univers|ecol|universit|schule|universitat|hochschul|escuela|universidad|школа|университет|学校|大学|학교|대학 학교
hospit|clinic|hopit|cliniqu|krankenhau|klinik|clinica|больница|医院|诊所|病院|병원
insur|assur|versicherung|seguro|страховка|保险|保険|보험
oper|transact|book|post|vorgang|buchung|operacion
commiss|fee|charg|provis|gebuhr|frai|comis|comision
log out|session timeout|inact|idl|ausgeloggt|abgemeldet|inaktivitat|aktivitat|deconnect|inactivit|activit|desconectado|inactividad
revenu|incom|turnov|proce|umsatz|erlo|erlos|einnahmen|chiffr d affair|recett|ingreso|facturacion
ship cost|deliveri cost|freight|lieferkosten|versandkosten|versand|frai de port|gasto de envio
determin|decid|defin|comput|bestimmen|bestimmt|festlegen|festgelegt|berechnet|fixer|defini|determinar|definir|definido
rout|path|tour|walk|weg|streck|rundgang|laufweg|trajet|chemin|recorrido|trayecto
pick|collect|gather|kommissionieren|kommissionierung|entnahm|prepar|ramass|recog|preparacion
imperson|act as|on behalf|log in as|usurp|se fair passer|auftreten al|suplantar|en nombr de
support|helpdesk|custom servic|custom care|kundendienst|kundenservic|servic client|assist|atencion|atencion al client|soport
town hall|citi hall|municip|public sector|mairi|commun|collectivit|secteur public|rathau|gemeind|kommun|offentlich hand|ayuntamiento|municipio|sector publico
number|sequenc|counter|gap|gapless|numerot|compteur|chiffr|san trou|nummerierung|nummernkrei|luckenlo|numeracion|contador
put onlin|go onlin|list|en lign|mi en lign|publi|publie|onlin stellen|veroffentlicht|publicado|publicada|en linea
iban|bank detail|bank account|account number|bankdaten|bankverbindung|kontonumm|coordonne bancair|rib|dato bancario|cuenta bancaria
four ey principl|second confirm|two person|vier augen|zweit bestatigung|doubl valid|quatr yeux|dobl confirmacion
payment gateway|payment provid|processor|psp|gateway|pasarela|pasarela de pago|prestatair de paiement|zahlungsanbiet|zahlungsdienstleist|redsi|adyen|stripe|molli|proveedor
help page|help articl|knowledg base|faq|hilfeseit|hilfeartikel|wissensdatenbank|page d aid|base de connaiss|pagina de ayuda|base de conocimiento|articulo
ticket|case|issu|complaint|incid|anfrag|reklam|reclam|incidencia|reclamacion|queja
ingest|load|import|sourc|origin|ingesta|cargar|cargan|carga|origen|einlesen|beladen|quell|charger
transform|model|dbt|modelo|transformacion
protect|access|permiss|polici|geschutzt|zugriff|zugriffsschutz|proteg|acc|protegido|protegida|acceso|permiso
publish|public|releas|upload|submit|store submiss|publier|veroffentlichung|publicacion|publicar|fastlan
german|deutsch|allemand|aleman|немецкии|德语|ドイ イツ ツ語|독일 일어
english|englisch|anglai|ingl|англиискии|英语|英語|영어
french|franzosisch|francai|franc|французскии|法语|フラ ラン ンス ス語|프랑 랑스 스어
spanish|spanisch|espagnol|espanol|испанскии|西班 班牙 牙语|スペ ペイ イン ン語|스페 페인 인어
"""  # noqa: E501
"""Words that people use for one another."""
